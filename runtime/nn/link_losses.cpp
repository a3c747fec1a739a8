#include "runtime/nn/link_losses.hpp"

#include <array>

namespace troupe::nn {
namespace {

constexpr std::array<std::string_view, 1> margin_options = {"margin"};
constexpr std::array<std::string_view, 1> adversarial_options = {"temperature"};

constexpr std::array loss_table = {
    LinkLossKind{.name = "bce", .rule = LinkRule::bce},
    LinkLossKind{.name = "balanced", .rule = LinkRule::balanced},
    LinkLossKind{
        .name = "margin", .options = margin_options, .compares = true, .rule = LinkRule::margin},
    LinkLossKind{.name = "self_adversarial",
                 .options = adversarial_options,
                 .rule = LinkRule::self_adversarial},
    LinkLossKind{.name = "softmax", .compares = true, .rule = LinkRule::softmax},
};

}  // namespace

std::span<const LinkLossKind> link_loss_kinds() {
  return loss_table;
}

}  // namespace troupe::nn
