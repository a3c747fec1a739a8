#include "runtime/nn/ops/seed_loss.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe::nn {
namespace {

/// Rows for each seed; duplicate seeds share a row.
Matrix expand_seeds(ConstMatrix rows, std::span<const std::uint32_t> row_of_seed) {
  Matrix out(row_of_seed.size(), rows.cols);
  for (std::size_t i = 0; i < row_of_seed.size(); ++i) {
    std::ranges::copy(rows.row(row_of_seed[i]), out.view().row(i).begin());
  }
  return out;
}

/// The adjoint of expand_seeds: adds gradients of equal seeds in seed order.
void collapse_seeds(ConstMatrix grad, std::span<const std::uint32_t> row_of_seed,
                    MutMatrix grad_rows) {
  std::ranges::fill(grad_rows.flat(), 0.0F);
  for (std::size_t i = 0; i < row_of_seed.size(); ++i) {
    const auto to = grad_rows.row(row_of_seed[i]);
    const auto from = grad.row(i);
    for (std::size_t c = 0; c < to.size(); ++c) {
      to[c] += from[c];
    }
  }
}

LossResult loss_of(const SeedLoss& loss, ConstMatrix seeds, MutMatrix grad) {
  switch (loss.kind) {
    case SeedLossKind::cross_entropy:
      break;
    case SeedLossKind::bce_logits:
      return bce_logits(
          seeds, loss.targets,
          {.positive = loss.pos_weight, .of_column = loss.class_weights, .unit = loss.weight_unit},
          grad);
    case SeedLossKind::numbers:
      return number_loss(loss.of_numbers, seeds, loss.targets, grad);
  }
  return cross_entropy(seeds, loss.labels, grad, loss.class_weights);
}

}  // namespace

std::uint64_t seed_loss_weight(const SeedLoss& loss) {
  if (loss.kind == SeedLossKind::cross_entropy) {
    std::uint64_t weight = 0;
    for (const std::int64_t label : loss.labels) {
      const std::uint64_t of_class = label == -1 || loss.class_weights.empty()
                                         ? 1
                                         : loss.class_weights[static_cast<std::size_t>(label)];
      weight += label == -1 ? 0 : of_class;
    }
    return weight;
  }
  const auto known =
      std::ranges::count_if(loss.targets.flat(), [](float target) { return !std::isnan(target); });
  const bool weighs = loss.kind == SeedLossKind::bce_logits;
  return static_cast<std::uint64_t>(known) * (weighs ? loss.weight_unit : 1);
}

LossResult seed_loss(const SeedLoss& loss, ConstMatrix rows, MutMatrix grad_rows) {
  if (loss.own_rows) {
    return loss_of(loss, rows, grad_rows);
  }
  const Matrix seeds = expand_seeds(rows, loss.row_of_seed);
  Matrix grad(seeds.rows(), seeds.cols());
  const auto result = loss_of(loss, seeds.view(), grad.view());
  collapse_seeds(std::as_const(grad).view(), loss.row_of_seed, grad_rows);
  return result;
}

}  // namespace troupe::nn
