#include "actors/gradient_exchange.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>
#include <memory>
#include <utility>

namespace troupe {

void GradientExchange::begin_generation(std::uint32_t generation, const Error& why) {
  drop();
  fail_shares(why);
  generation_ = generation;
  reducer_ = GradientReducer(world_, generation);
  reducer_.decide_with(decide_);
}

void GradientExchange::drop() {
  ++begun_;
  then_ = nullptr;
}

void GradientExchange::begin(const Step& step, const Contribution& mine, Then then) {
  ++begun_;
  then_ = std::move(then);
  step_ = step.number;
  auto& reduction = reduction_.emplace(rank_, world_, step.size);
  const auto slice = gradient_slice(step.size, world_, rank_);
  if (const auto early = reducer_.begin(step.number, slice.size, step.divide); !early) {
    fail_shares(early.error());
    return finish(early.error());
  }
  for (std::uint32_t r = 0; r < world_; ++r) {
    const auto owner = static_cast<Rank>(r);
    if (owner != rank_) {
      send(owner, reduction.share(owner, mine, generation_, step.number));
    }
  }
  const auto sum = reducer_.add(std::make_shared<const net::GradientChunk>(
      reduction.share(rank_, mine, generation_, step.number)));
  if (!sum) {
    finish(sum.error());
  } else if (*sum) {
    own_sum(**sum);
  }
}

void GradientExchange::send(Rank owner, net::GradientChunk share) {
  const auto is_current = [this, begun = begun_] { return then_ && begun_ == begun; };
  self_->request(peers_[raw(owner)], caf::infinite, Ref<net::GradientChunk>(std::move(share)))
      .then(
          [this, owner, is_current](const Ref<net::GradientSum>& sum) {
            if (is_current()) {
              take_sum(owner, *sum);
            }
          },
          [this, owner, is_current](const caf::error& error) {
            if (is_current()) {
              finish(from_caf(error).with(fmt::format("reducing with rank {}", raw(owner))));
            }
          });
}

void GradientExchange::finish(Result<Reduced> result) {
  const auto then = std::exchange(then_, nullptr);
  if (then) {
    then(std::move(result));
  }
}

void GradientExchange::take_sum(Rank owner, const net::GradientSum& sum) {
  if (const auto taken = reduction_->take(owner, sum); !taken) {
    return finish(taken.error());
  }
  if (reduction_->done()) {
    finish(std::move(*reduction_).take_result());
  }
}

/// The slice that this rank sums is whole, or was: then this answers a repeat.
void GradientExchange::own_sum(const GradientReducer::Sum& sum) {
  const auto node = waiting_.extract(sum->step);
  if (!node.empty()) {
    for (auto promise : node.mapped()) {
      promise.deliver(Ref<net::GradientSum>(sum));
    }
  }
  if (then_ && sum->step == step_ && !reduction_->answered()[raw(rank_)]) {
    take_sum(rank_, *sum);
  }
}

Status GradientExchange::take_share(const Ref<net::GradientChunk>& share,
                                    caf::response_promise promise) {
  const auto known = reducer_.add(share);
  if (!known) {
    promise.deliver(to_caf(known.error()));
    return known.error();
  }
  waiting_[share->step].push_back(std::move(promise));
  if (*known) {
    own_sum(**known);
  }
  return ok_status();
}

void GradientExchange::fail_shares(const Error& why) {
  for (auto& [step, promises] : std::exchange(waiting_, {})) {
    for (auto& promise : promises) {
      promise.deliver(to_caf(why));
    }
  }
}

std::vector<bool> GradientExchange::answered() const {
  return reduction_ ? reduction_->answered() : std::vector<bool>(world_);
}

}  // namespace troupe
