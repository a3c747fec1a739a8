#include "runtime/nn/number_losses.hpp"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe::nn {
namespace {

constexpr std::array<std::string_view, 1> reads_delta{"delta"};

constexpr std::array number_loss_table = {
    NumberLossKind{.name = "mse", .rule = NumberRule::squared, .metric = "rmse"},
    NumberLossKind{.name = "mae", .rule = NumberRule::absolute, .metric = "mae"},
    NumberLossKind{
        .name = "huber", .options = reads_delta, .rule = NumberRule::huber, .metric = "rmse"},
};

}  // namespace

std::span<const NumberLossKind> number_loss_kinds() {
  return number_loss_table;
}

bool predicts_numbers(std::string_view loss) {
  return find_kind(number_loss_table, loss) != nullptr;
}

Result<NumberLoss> make_number_loss(std::string_view loss, double delta) {
  const auto* kind = find_kind(number_loss_table, loss);
  if (kind == nullptr) {
    return Error(Errc::invalid_argument,
                 fmt::format("train.loss: expected {} of numbers, found {}",
                             fmt::join(names_of(number_loss_table), ", "), loss));
  }
  if (!(delta > 0) || !std::isfinite(delta)) {
    return Error(Errc::invalid_argument,
                 fmt::format("train.delta: expected a positive number, found {}", delta));
  }
  return NumberLoss{.rule = kind->rule, .delta = delta};
}

}  // namespace troupe::nn
