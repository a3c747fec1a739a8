#include "runtime/nn/trained_parameters.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe::nn {
namespace {

std::vector<ParameterSlice> statistics_of(const ParameterLayout& layout) {
  std::vector<ParameterSlice> slices;
  std::ranges::copy_if(layout, std::back_inserter(slices),
                       [](const ParameterSlice& slice) { return !slice.trained; });
  return slices;
}

std::size_t size_of(const std::vector<ParameterSlice>& slices) {
  std::size_t size = 0;
  for (const auto& slice : slices) {
    size += slice.size();
  }
  return size;
}

}  // namespace

TrainedParameters::TrainedParameters(BlockOps& ops, const ParameterLayout& layout,
                                     std::span<const float> initial,
                                     std::unique_ptr<Optimizer> optimizer, double clip)
    : ops_(ops),
      optimizer_(std::move(optimizer)),
      clip_(clip),
      statistics_(statistics_of(layout)),
      values_(&ops, initial.size()),
      gradient_(&ops, initial.size()),
      mean_(&ops, ops.memory() == nullptr && statistics_.empty() ? 0 : initial.size()),
      moved_(&ops, size_of(statistics_)) {
  values_.put(initial);
}

void TrainedParameters::weigh_statistics(std::uint64_t weight) {
  for (const auto& slice : statistics_) {
    ops_.scale(static_cast<float>(weight), gradient().subspan(slice.offset, slice.size()));
  }
}

void TrainedParameters::step(std::span<const float> mean) {
  if (ops_.memory() == nullptr) {
    return step_there(mean);
  }
  mean_.put(mean);
  step_there(mean_.values());
}

void TrainedParameters::own_step(std::uint64_t weight) {
  ops_.mean_of_one(static_cast<float>(weight), gradient());
  step_there(gradient());
}

/// Statistics move toward the batch's as PyTorch moves them, by a tenth; the optimizer does not see
/// them.
void TrainedParameters::step_there(std::span<const float> mean) {
  if (statistics_.empty()) {
    return update(mean);
  }
  constexpr float momentum = 0.1F;
  const auto trained = mean_.values();
  if (mean.data() != trained.data()) {
    ops_.copy(mean, trained);
  }
  std::size_t at = 0;
  for (const auto& slice : statistics_) {
    const auto of_batch = trained.subspan(slice.offset, slice.size());
    const auto moved = moved_.values().subspan(at, slice.size());
    ops_.copy(values().subspan(slice.offset, slice.size()), moved);
    ops_.scale(1 - momentum, moved);
    ops_.scale(momentum, of_batch);
    ops_.add(of_batch, moved);
    ops_.zero(of_batch);
    at += slice.size();
  }
  update(trained);
  at = 0;
  for (const auto& slice : statistics_) {
    ops_.copy(moved_.values().subspan(at, slice.size()),
              values_.values().subspan(slice.offset, slice.size()));
    at += slice.size();
  }
}

void TrainedParameters::update(std::span<const float> mean) {
  const float* const factor = clip_ > 0 ? ops_.clip_factor(mean, clip_) : nullptr;
  optimizer_->step(values_.values(), mean, factor);
}

void TrainedParameters::keep_best() {
  if (!best_) {
    best_.emplace(&ops_, values_.size());
  }
  ops_.copy(values(), best_->values());
}

void TrainedParameters::restore(std::span<const float> parameters, std::span<const float> best) {
  values_.put(parameters);
  best_.reset();
  if (!best.empty()) {
    best_.emplace(&ops_, best.size());
    best_->put(best);
  }
}

}  // namespace troupe::nn
