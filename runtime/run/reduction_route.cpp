#include "runtime/run/reduction_route.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe {

static_assert(most_communicator_words == net::most_communicator_words);

ReductionRoute::ReductionRoute(Rank rank, std::uint32_t world, std::shared_ptr<DeviceMeans> means,
                               std::function<Clock::time_point()> now)
    : rank_(rank), world_(world), means_(std::move(means)), now_(std::move(now)) {}

ReductionRoute::~ReductionRoute() {
  begin_generation();
}

void ReductionRoute::begin_generation() {
  if (communicator_) {
    communicator_->abort();
  }
  communicator_.reset();
  made_.clear();
  late_ = false;
  gives_up_ = false;
  by_devices_ = false;
  last_step_.reset();
}

void ReductionRoute::tell(std::string what) {
  if (what != told_) {
    told_ = what;
    news_ = std::move(what);
  }
}

std::optional<std::string> ReductionRoute::news() {
  return std::exchange(news_, std::nullopt);
}

net::DeviceOffer ReductionRoute::offer() {
  net::DeviceOffer mine;
  if (!means_ || world_ == 1 || gives_up_) {
    return mine;
  }
  auto place = means_->place();
  mine.network = std::move(place.network);
  mine.device = std::move(place.device);
  if (communicator_) {
    const auto ready = communicator_->ready();
    mine.joined = ready && *ready;
    // Steps that count on it fail; before them it can still be done without.
    if (!ready && !by_devices_) {
      gives_up_ = true;
      tell(fmt::format("gradients go over the links: rank {}: {}", raw(rank_),
                       ready.error().what()));
    }
  }
  return mine;
}

std::optional<std::string> ReductionRoute::why_links(
    std::span<const GradientReducer::Share> shares) const {
  const auto& first = shares.front()->offer;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    const auto& offer = shares[rank]->offer;
    if (offer.network.empty()) {
      return fmt::format("rank {} has no device that exchanges vectors", rank);
    }
    if (offer.network != first.network) {
      return fmt::format("rank 0 is among {}, rank {} among {}", first.network, rank,
                         offer.network);
    }
    for (std::size_t other = 0; other < rank; ++other) {
      if (shares[other]->offer.device == offer.device) {
        return fmt::format("ranks {} and {} share a device", other, rank);
      }
    }
  }
  return std::nullopt;
}

void ReductionRoute::decide(std::span<const GradientReducer::Share> shares, net::GradientSum& sum) {
  if (!means_ || world_ == 1 || gives_up_) {
    return;
  }
  if (made_.empty()) {
    if (const auto why = why_links(shares)) {
      return tell(fmt::format("gradients go over the links: {}", *why));
    }
    auto made = means_->make_id();
    if (!made) {
      gives_up_ = true;
      return tell(fmt::format("gradients go over the links: {}", made.error().what()));
    }
    made_ = *std::move(made);
    made_at_ = now_();
  }
  sum.communicator = made_;
  sum.by_devices = std::ranges::all_of(
      shares, [](const GradientReducer::Share& share) { return share->offer.joined; });
  look_at_joining(shares, sum.by_devices);
}

/// A library that finds no way to a peer may try for ever, without an error.
void ReductionRoute::look_at_joining(std::span<const GradientReducer::Share> shares, bool all) {
  if (all && late_) {
    late_ = false;
    tell("gradients go between the devices: all ranks are connected now");
  } else if (!all && !late_ && now_() - made_at_ >= longest_join) {
    late_ = true;
    const auto joined = std::ranges::count_if(
        shares, [](const GradientReducer::Share& share) { return share->offer.joined; });
    tell(
        fmt::format("gradients still go over the links: {} of {} ranks are connected to each "
                    "other's devices after {} s; NCCL_DEBUG=INFO shows what NCCL waits for",
                    joined, shares.size(), longest_join.count()));
  }
}

void ReductionRoute::join(const CommunicatorId& id) {
  auto joined = means_->join(id, rank_, world_);
  if (joined) {
    communicator_ = *std::move(joined);
    return;
  }
  gives_up_ = true;
  tell(fmt::format("gradients go over the links: rank {}: {}", raw(rank_), joined.error().what()));
}

Result<ReductionRoute::Next> ReductionRoute::take(std::uint64_t step, const Reduced& sum) {
  if (last_step_ && step <= *last_step_) {
    return Error(
        Errc::failed_precondition,
        fmt::format("reduction of step {}: expected one after step {}", step, *last_step_));
  }
  last_step_ = step;
  const bool launches = by_devices_ && sum.weight > 0;
  if (means_ && !gives_up_ && !communicator_ && !sum.communicator.empty()) {
    join(sum.communicator);
  }
  // It stays so: what was once all there does not come back in a generation.
  by_devices_ = by_devices_ || (sum.by_devices && communicator_ != nullptr);
  return launches ? Next::launch : Next::apply;
}

}  // namespace troupe
