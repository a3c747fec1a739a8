// Gradients over the ranks: this rank's shares to the owners of the slices, and the slice that it owns.
#include "actors/error.hpp"
#include "actors/offload.hpp"
#include "actors/trainer_state.hpp"
#include "runtime/net/codec.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe::trainer {
namespace {

void apply(Self* self) {
  auto& state = self->state;
  auto& sums = state.exchange;
  auto& position = state.position;
  state.pass->counters.reduce_ns += ns_since(sums.began);
  state.options.trace.slice("reduce gradients", sums.began);
  position.loss_sum += sums.loss_sum;
  position.loss_weight += sums.weight;
  for (const auto& batch : sums.batches) {
    position.batches = chain(position.batches, batch);
  }
  const auto began = SteadyClock::now();
  state.computing = true;
  state.applying = true;
  offload(
      self, *state.executor,
      [learner = state.learner, mean = std::move(sums.mean), weight = sums.weight] {
        learner->apply(mean, weight);
        return true;
      },
      [self, began, pass = state.pass_number](bool) {
        self->state.computing = false;
        self->state.applying = false;
        if (!restore_if_asked(self) && self->state.pass && self->state.pass_number == pass) {
          self->state.pass->counters.train_ns += ns_since(began);
          self->state.options.trace.slice("update parameters", began);
          step_done(self);
        }
      });
}

void take_sum(Self* self, Rank owner, const net::GradientSum& sum) {
  auto& exchange = self->state.exchange;
  const auto slice = gradient_slice(exchange.mean.size(), self->state.options.world, owner);
  const auto values = sum.values.as<float>();
  if (values.size() != slice.size) {
    return fail(self, Error(Errc::data_corruption,
                            fmt::format("gradient sum of rank {}: expected {} numbers, found {}",
                                        raw(owner), slice.size, values.size())));
  }
  std::ranges::copy(values, exchange.mean.begin() + static_cast<std::ptrdiff_t>(slice.first));
  exchange.weight = sum.weight;
  exchange.loss_sum = sum.loss_sum;
  if (raw(owner) == 0) {
    exchange.batches = sum.batches;
  }
  if (--exchange.missing == 0) {
    apply(self);
  }
}

net::GradientChunk make_chunk(const State& state, const LocalShare& share, Rank owner) {
  const auto slice =
      gradient_slice(state.learner->network().num_parameters(), state.options.world, owner);
  net::GradientChunk chunk;
  chunk.generation = state.generation;
  chunk.step = state.position.global_step;
  chunk.rank = state.options.rank;
  chunk.weight = share.weight;
  chunk.loss_sum = share.loss_sum;
  chunk.sum_bytes = net::gradient_sum_bytes(slice.size * sizeof(float), owner, state.options.world);
  if (raw(owner) == 0) {
    chunk.batch = share.batch;
  }
  if (share.weight > 0) {
    chunk.values = {share.gradient.owner, share.gradient.bytes.subspan(slice.first * sizeof(float),
                                                                       slice.size * sizeof(float))};
  }
  return chunk;
}

}  // namespace

void exchange(Self* self, const LocalShare& share) {
  auto& state = self->state;
  const auto world = state.options.world;
  state.exchange = {};
  state.exchange.mean.resize(state.learner->network().num_parameters());
  state.exchange.missing = world;
  state.exchange.began = SteadyClock::now();
  const auto pass = state.pass_number;
  for (std::uint32_t r = 0; r < world; ++r) {
    const auto owner = static_cast<Rank>(r);
    self->request(state.peers[r], caf::infinite,
                  Ref<net::GradientChunk>(make_chunk(state, share, owner)))
        .then(
            [self, owner, pass](const Ref<net::GradientSum>& sum) {
              if (self->state.pass && self->state.pass_number == pass) {
                take_sum(self, owner, *sum);
              }
            },
            [self, owner, pass](const caf::error& error) {
              if (!self->state.pass || self->state.pass_number != pass) {
                return;
              }
              const auto why =
                  from_caf(error).with(fmt::format("reducing gradients with rank {}", raw(owner)));
              fail(self, why);
              if (why.code() == Errc::fenced) {
                wait_for_restore(self, why);
              }
            });
  }
}

void take_share(Self* self, const Ref<net::GradientChunk>& share) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (!state.reducer) {
    promise.deliver(to_caf(Error(Errc::failed_precondition,
                                 fmt::format("rank {}: asked to reduce gradients before it knows "
                                             "its peers",
                                             raw(state.options.rank)))));
    return;
  }
  auto sum = state.reducer->add(share);
  if (!sum) {
    promise.deliver(to_caf(sum.error()));
    return;
  }
  auto& promises = state.share_promises[share->step];
  promises.push_back(std::move(promise));
  if (*sum) {
    for (auto& waiting : promises) {
      waiting.deliver(Ref<net::GradientSum>(**sum));
    }
    state.share_promises.erase(share->step);
  }
}

void reset_reducer(Self* self) {
  auto& state = self->state;
  for (auto& [step, promises] : state.share_promises) {
    for (auto& promise : promises) {
      promise.deliver(
          to_caf(Error(Errc::fenced, fmt::format("rank {}: generation {} begins",
                                                 raw(state.options.rank), state.generation))));
    }
  }
  state.share_promises.clear();
  if (state.learner && !state.peers.empty()) {
    const auto slice = gradient_slice(state.learner->network().num_parameters(),
                                      state.options.world, state.options.rank);
    state.reducer.emplace(state.options.world, slice.size, state.generation);
  }
}

}  // namespace troupe::trainer
