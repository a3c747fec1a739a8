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
      return bce_logits(seeds, loss.targets, loss.pos_weight, grad);
    case SeedLossKind::numbers:
      return number_loss(loss.of_numbers, seeds, loss.targets, grad);
  }
  return cross_entropy(seeds, loss.labels, grad);
}

}  // namespace

std::uint64_t known_terms(const SeedLoss& loss) {
  if (loss.kind == SeedLossKind::cross_entropy) {
    const auto unknown = std::ranges::count(loss.labels, -1);
    return loss.labels.size() - static_cast<std::uint64_t>(unknown);
  }
  const auto targets = loss.targets.flat();
  return static_cast<std::uint64_t>(
      std::ranges::count_if(targets, [](float target) { return !std::isnan(target); }));
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
