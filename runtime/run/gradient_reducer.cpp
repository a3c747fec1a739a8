#include "runtime/run/gradient_reducer.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

Result<std::optional<GradientReducer::Sum>> GradientReducer::add(
    const std::shared_ptr<const net::GradientChunk>& share) {
  const std::size_t bytes = share->weight == 0 ? 0 : chunk_size_ * sizeof(float);
  if (raw(share->rank) >= world_ || share->values.bytes.size() != bytes) {
    return Error(
        Errc::invalid_argument,
        fmt::format("gradient share of step {}: expected rank < {} and {} bytes, found "
                    "rank {} and {} bytes",
                    share->step, world_, bytes, raw(share->rank), share->values.bytes.size()));
  }
  if (share->generation < generation_) {
    return Error(Errc::fenced,
                 fmt::format("gradient share of step {}: generation {} is over, now {}",
                             share->step, share->generation, generation_));
  }
  if (share->generation > generation_) {
    generation_ = share->generation;
    waiting_.clear();
    last_.reset();
  }
  if (last_ && share->step == last_->step) {
    return std::optional(last_);
  }
  auto& shares = waiting_[share->step];
  if (waiting_.size() > 2 || (last_ && share->step < last_->step)) {
    const auto step = share->step;
    waiting_.erase(step);
    return Error(Errc::invalid_argument,
                 fmt::format("gradient share of step {} from rank {}: not the step under way", step,
                             raw(share->rank)));
  }
  shares.resize(world_);
  shares[raw(share->rank)] = share;
  if (std::ranges::any_of(shares, [](const auto& s) { return s == nullptr; })) {
    return std::optional<Sum>();
  }
  last_ = sum(share->step, shares);
  waiting_.erase(share->step);
  return std::optional(last_);
}

GradientReducer::Sum GradientReducer::sum(
    std::uint64_t step,
    const std::vector<std::shared_ptr<const net::GradientChunk>>& shares) const {
  net::GradientSum result;
  result.step = step;
  Buffer buffer(chunk_size_ * sizeof(float));
  const auto total = buffer.as<float>();
  std::ranges::fill(total, 0.0F);
  for (const auto& share : shares) {
    result.weight += share->weight;
    result.loss_sum += share->loss_sum;
    if (share->batch) {
      result.batches.push_back(*share->batch);
    }
    const auto values = share->values.as<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      total[i] += values[i];
    }
  }
  if (divide_ && result.weight > 0) {
    const float divisor = static_cast<float>(result.weight);
    for (auto& value : total) {
      value /= divisor;
    }
  }
  result.values = std::move(buffer).freeze();
  return std::make_shared<const net::GradientSum>(std::move(result));
}

}  // namespace troupe
