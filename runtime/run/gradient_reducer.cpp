#include "runtime/run/gradient_reducer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe {

Error GradientReducer::refused(const net::GradientChunk& share, const char* why) const {
  return {Errc::invalid_argument, fmt::format("share of step {} from rank {} of {}: {}", share.step,
                                              raw(share.rank), world_, why)};
}

Result<std::optional<GradientReducer::Sum>> GradientReducer::begin(std::uint64_t step,
                                                                   std::size_t slice, bool divide) {
  if (step_ && step_->sum) {
    last_ = step_->sum;
  }
  step_ = Step{step, slice, divide, std::vector<Share>(world_), nullptr};
  std::optional<Sum> sum;
  for (const auto& share : std::exchange(early_, {})) {
    TROUPE_ASSIGN_OR_RETURN(sum, add(share));
  }
  return sum;
}

Result<std::optional<GradientReducer::Sum>> GradientReducer::add(const Share& share) {
  if (raw(share->rank) >= world_) {
    return refused(*share, "no such rank");
  }
  if (share->generation < generation_) {
    return Error(Errc::fenced, fmt::format("share of step {}: generation {} is over, now {}",
                                           share->step, share->generation, generation_));
  }
  if (share->generation > generation_) {
    auto decide = std::move(decide_);
    *this = GradientReducer(world_, share->generation);
    decide_ = std::move(decide);
  }
  if (last_ && share->step == last_->step) {
    return std::optional(last_);
  }
  if (step_ && share->step == step_->number) {
    return take(share);
  }
  if (step_ && (!step_->sum || share->step < step_->number)) {
    return refused(*share, "not the step under way");
  }
  keep_early(share);
  return std::optional<Sum>();
}

void GradientReducer::keep_early(const Share& share) {
  const auto same =
      std::ranges::find_if(early_, [&](const Share& other) { return other->rank == share->rank; });
  if (same != early_.end()) {
    *same = share;
  } else {
    early_.push_back(share);
  }
}

Result<std::optional<GradientReducer::Sum>> GradientReducer::take(const Share& share) {
  if (step_->sum) {
    return std::optional(step_->sum);
  }
  const std::size_t bytes = share->weight == 0 ? 0 : step_->slice * sizeof(float);
  if (share->values.bytes.size() != bytes) {
    return Error(
        Errc::invalid_argument,
        fmt::format("share of rank {}: a vector of another length: expected {} bytes, found "
                    "{}",
                    raw(share->rank), bytes, share->values.bytes.size()));
  }
  step_->shares[raw(share->rank)] = share;
  if (std::ranges::find(step_->shares, nullptr) != step_->shares.end()) {
    return std::optional<Sum>();
  }
  step_->sum = sum_of(*step_);
  step_->shares.clear();
  return std::optional(step_->sum);
}

bool GradientReducer::knows(std::uint64_t step) const {
  return (last_ && last_->step == step) || (step_ && step_->sum && step_->number == step);
}

std::vector<bool> GradientReducer::arrived() const {
  std::vector<bool> here(world_, step_ && step_->sum);
  for (std::size_t rank = 0; step_ && rank < step_->shares.size(); ++rank) {
    here[rank] = step_->shares[rank] != nullptr;
  }
  return here;
}

GradientReducer::Sum GradientReducer::sum_of(const Step& step) const {
  net::GradientSum result;
  result.step = step.number;
  Buffer buffer(step.slice * sizeof(float));
  const auto total = buffer.as<float>();
  std::ranges::fill(total, 0.0F);
  for (const auto& share : step.shares) {
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
  if (step.divide && result.weight > 0) {
    const float divisor = static_cast<float>(result.weight);
    for (auto& value : total) {
      value /= divisor;
    }
  }
  result.values = std::move(buffer).freeze();
  if (decide_) {
    decide_(step.shares, result);
  }
  return std::make_shared<const net::GradientSum>(std::move(result));
}

}  // namespace troupe
