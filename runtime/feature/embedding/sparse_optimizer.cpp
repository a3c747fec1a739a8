#include "runtime/feature/embedding/sparse_optimizer.hpp"

#include "runtime/base/assert.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace troupe {
namespace {

constexpr std::array<std::string_view, 2> adagrad_options{"eps", "initial_accumulator"};
constexpr std::array<std::string_view, 3> adam_options{"beta1", "beta2", "eps"};

constexpr std::array<SparseOptimizerKind, 4> kinds{{
    {.name = "sgd",
     .help = "row - lr * gradient",
     .state_cols = [](std::uint32_t) -> std::uint64_t { return 0; }},
    {.name = "adagrad",
     .help = "a sum of squares per number (Duchi, Hazan, Singer 2011), as `torch.optim.Adagrad`",
     .options = adagrad_options,
     .state_cols = [](std::uint32_t dim) -> std::uint64_t { return dim; }},
    {.name = "row_adagrad",
     .help = "a sum per row, of the mean of its squares (Lerer et al., PyTorch-BigGraph, 2019)",
     .options = adagrad_options,
     .state_cols = [](std::uint32_t) -> std::uint64_t { return 1; }},
    {.name = "adam",
     .help = "Adam (Kingma, Ba 2015) of the rows that a step touches, as `torch.optim.SparseAdam`",
     .options = adam_options,
     .state_cols = [](std::uint32_t dim) -> std::uint64_t { return 2 * std::uint64_t{dim}; }},
}};

}  // namespace

std::span<const SparseOptimizerKind> sparse_optimizer_kinds() {
  return kinds;
}

std::uint64_t sparse_state_cols(const EmbeddingOptions& table) {
  const auto* kind = find_kind(sparse_optimizer_kinds(), table.optimizer.kind);
  TROUPE_ASSERT(kind != nullptr, "no such sparse optimizer", table.optimizer.kind);
  return kind->state_cols(table.dim);
}

double default_sparse_eps(const std::string& kind) {
  return kind == "adam" ? 1e-8 : 1e-10;
}

float initial_sparse_state(const SparseOptimizerOptions& options) {
  const bool sums = options.kind == "adagrad" || options.kind == "row_adagrad";
  return sums ? static_cast<float>(options.initial_accumulator) : 0.0F;
}

SparseStep::SparseStep(const SparseOptimizerOptions& options, std::uint64_t number)
    : update_(update_of(options.kind)),
      rate_(static_cast<float>(options.lr)),
      eps_(static_cast<float>(options.eps)),
      share1_(static_cast<float>(1 - options.beta1)),
      beta2_(static_cast<float>(options.beta2)),
      share2_(static_cast<float>(1 - options.beta2)) {
  if (options.kind == "adam") {
    const auto t = static_cast<double>(number);
    rate_ = static_cast<float>(options.lr * std::sqrt(1 - std::pow(options.beta2, t)) /
                               (1 - std::pow(options.beta1, t)));
  }
}

SparseStep::Update SparseStep::update_of(const std::string& kind) {
  if (kind == "sgd") {
    return &sgd;
  }
  if (kind == "adagrad") {
    return &adagrad;
  }
  if (kind == "row_adagrad") {
    return &row_adagrad;
  }
  TROUPE_ASSERT(kind == "adam", "no such sparse optimizer", kind);
  return &adam;
}

void SparseStep::sgd(const SparseStep& step, std::span<const float> gradient, std::span<float> row,
                     std::span<float> /*state*/) {
  for (std::size_t c = 0; c < row.size(); ++c) {
    row[c] -= step.rate_ * gradient[c];
  }
}

void SparseStep::adagrad(const SparseStep& step, std::span<const float> gradient,
                         std::span<float> row, std::span<float> state) {
  for (std::size_t c = 0; c < row.size(); ++c) {
    const float g = gradient[c];
    state[c] += g * g;
    row[c] -= step.rate_ * (g / (std::sqrt(state[c]) + step.eps_));
  }
}

void SparseStep::row_adagrad(const SparseStep& step, std::span<const float> gradient,
                             std::span<float> row, std::span<float> state) {
  float squares = 0;
  for (const float g : gradient) {
    squares += g * g;
  }
  state[0] += squares / static_cast<float>(gradient.size());
  const float root = std::sqrt(state[0]) + step.eps_;
  for (std::size_t c = 0; c < row.size(); ++c) {
    row[c] -= step.rate_ * (gradient[c] / root);
  }
}

/// The bias correction is that of the table's steps, and eps is added before it.
void SparseStep::adam(const SparseStep& step, std::span<const float> gradient, std::span<float> row,
                      std::span<float> state) {
  const auto mean = state.first(row.size());
  const auto square = state.subspan(row.size(), row.size());
  for (std::size_t c = 0; c < row.size(); ++c) {
    const float g = gradient[c];
    mean[c] += step.share1_ * (g - mean[c]);
    square[c] = step.beta2_ * square[c] + step.share2_ * (g * g);
    row[c] -= step.rate_ * (mean[c] / (std::sqrt(square[c]) + step.eps_));
  }
}

}  // namespace troupe
