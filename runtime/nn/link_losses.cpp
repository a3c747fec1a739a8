#include "runtime/nn/link_losses.hpp"

#include <array>

namespace troupe::nn {
namespace {

constexpr std::array<std::string_view, 1> margin_options = {"margin"};
constexpr std::array<std::string_view, 1> adversarial_options = {"temperature"};

constexpr std::array loss_table = {
    LinkLossKind{.name = "bce",
                 .compute = [](const LinkScores& scores, const LinkLossOptions& /*options*/,
                               const LinkGradients& to) { return link_bce(scores, to); }},
    LinkLossKind{.name = "balanced",
                 .compute = [](const LinkScores& scores, const LinkLossOptions& /*options*/,
                               const LinkGradients& to) { return link_bce_balanced(scores, to); }},
    LinkLossKind{
        .name = "margin",
        .options = margin_options,
        .compares = true,
        .compute = [](const LinkScores& scores, const LinkLossOptions& options,
                      const LinkGradients& to) { return link_margin(scores, options.margin, to); }},
    LinkLossKind{
        .name = "self_adversarial",
        .options = adversarial_options,
        .compute =
            [](const LinkScores& scores, const LinkLossOptions& options, const LinkGradients& to) {
              return link_self_adversarial(scores, options.temperature, to);
            }},
    LinkLossKind{.name = "softmax",
                 .compares = true,
                 .compute = [](const LinkScores& scores, const LinkLossOptions& /*options*/,
                               const LinkGradients& to) { return link_softmax(scores, to); }},
};

}  // namespace

std::span<const LinkLossKind> link_loss_kinds() {
  return loss_table;
}

}  // namespace troupe::nn
