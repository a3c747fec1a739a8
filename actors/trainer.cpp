#include "actors/trainer.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "actors/offload.hpp"
#include "runtime/base/reorder_buffer.hpp"
#include "runtime/net/messages.hpp"
#include "runtime/run/gradient_reducer.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::uint64_t ns_since(SteadyClock::time_point t) {
  return static_cast<std::uint64_t>((SteadyClock::now() - t).count());
}

/// This rank's batches of one pass over a seed order: asked for ahead, taken in order.
struct Stream {
  std::shared_ptr<const SeedOrder> order;
  Purpose purpose = Purpose::train;
  std::uint32_t epoch = 0;
  std::uint64_t batches = 0;  ///< of this rank
  std::uint64_t steps = 0;    ///< of every rank
  std::uint64_t asked = 0;
  std::uint64_t step = 0;
  ReorderBuffer<Ref<ReadyBatch>> ready;
  bool busy = false;
  std::optional<SteadyClock::time_point> waiting_since;
  SteadyClock::time_point began = SteadyClock::now();
  caf::response_promise promise;
  net::EpochResult result;
  net::ScoreResult scores;
  std::vector<float> outputs;
};

/// One step's gradient exchange.
struct Exchange {
  std::vector<float> mean;
  std::uint64_t weight = 0;
  std::size_t missing = 0;
  SteadyClock::time_point began;
};

struct TrainerState {
  const char* name = "troupe.trainer";
  TrainerOptions options;
  std::vector<caf::actor> samplers;
  std::shared_ptr<Executor> executor;
  std::shared_ptr<Learner> learner;  ///< used by one task at a time; null if take_only
  std::vector<caf::actor> peers;
  std::optional<GradientReducer> reducer;
  std::map<std::uint64_t, std::vector<caf::response_promise>> share_promises;  ///< by step
  std::uint64_t generation = 0;
  std::uint64_t global_step = 0;
  std::optional<Stream> stream;
  Exchange exchange;
};
using Trainer = caf::stateful_actor<TrainerState>;

void pump(Trainer* self);

void fail(Trainer* self, const Error& why) {
  if (self->state.stream) {
    self->state.stream->promise.deliver(to_caf(why));
    self->state.stream.reset();
  }
}

void account(net::EpochCounters& counters, const ReadyBatch& ready) {
  const auto& sampled = *ready.batch.sampled;
  counters.batches += 1;
  counters.seeds += sampled.seed_index.size();
  counters.nodes += sampled.num_nodes();
  counters.edges += sampled.num_edges();
  counters.sample_ns += ready.trace.sample_ns;
  counters.collect_ns += ready.trace.collect_ns;
  counters.frontier_nodes += ready.trace.frontier_nodes;
  counters.frontier_remote += ready.trace.frontier_remote;
  counters.rows += ready.trace.rows;
  counters.rows_remote += ready.trace.rows_remote;
}

// ---- asking ----

void ask(Trainer* self) {
  auto& stream = *self->state.stream;
  const auto& options = self->state.options;
  const auto number = stream.asked++;
  const auto global = number * options.world + raw(options.rank);
  SampleBatch message;
  message.key = {stream.purpose, stream.epoch, global};
  message.seed_type = stream.order->seeds().node_type;
  message.seeds = stream.order->batch(stream.epoch, global);
  message.sample = options.sample;
  message.collect = options.collect;
  self->request(self->state.samplers[number % self->state.samplers.size()], caf::infinite,
                Ref<SampleBatch>(std::move(message)))
      .then(
          [self, number](const Ref<ReadyBatch>& ready) {
            if (self->state.stream) {
              self->state.stream->ready.put(number, ready);
              pump(self);
            }
          },
          [self](const caf::error& error) {
            fail(self, from_caf(error).with(fmt::format("rank {}", raw(self->state.options.rank))));
          });
}

void ask_ahead(Trainer* self) {
  auto& stream = *self->state.stream;
  const auto taken = std::min(stream.step, stream.batches);
  while (stream.asked < stream.batches &&
         stream.asked - taken < self->state.options.batches_in_flight) {
    ask(self);
  }
}

// ---- training one step ----

struct LocalShare {
  double loss_sum = 0;
  std::uint64_t weight = 0;
  Segment gradient;  ///< whole vector; empty with weight 0
};

void step_done(Trainer* self) {
  auto& state = self->state;
  auto& stream = *state.stream;
  ++state.global_step;
  ++stream.step;
  stream.busy = false;
  if (state.options.on_step && stream.purpose == Purpose::train) {
    state.options.on_step(state.options.rank);
  }
  pump(self);
}

void apply(Trainer* self) {
  auto& state = self->state;
  state.stream->result.counters.reduce_ns += ns_since(state.exchange.began);
  const auto began = SteadyClock::now();
  offload(
      self, *state.executor,
      [learner = state.learner, exchange = std::move(state.exchange)] {
        learner->apply(exchange.mean, exchange.weight);
        return true;
      },
      [self, began](bool) {
        if (self->state.stream) {
          self->state.stream->result.counters.train_ns += ns_since(began);
          step_done(self);
        }
      });
}

void take_sum(Trainer* self, Rank owner, const net::GradientSum& sum) {
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
  if (--exchange.missing == 0) {
    apply(self);
  }
}

void exchange(Trainer* self, const LocalShare& share) {
  auto& state = self->state;
  const auto world = state.options.world;
  const auto size = state.learner->model().num_parameters();
  state.exchange = {std::vector<float>(size), 0, world, SteadyClock::now()};
  for (std::uint32_t r = 0; r < world; ++r) {
    const auto owner = static_cast<Rank>(r);
    const auto slice = gradient_slice(size, world, owner);
    net::GradientChunk chunk;
    chunk.step = state.global_step;
    chunk.rank = state.options.rank;
    chunk.weight = share.weight;
    if (share.weight > 0) {
      chunk.values = {
          share.gradient.owner,
          share.gradient.bytes.subspan(slice.first * sizeof(float), slice.size * sizeof(float))};
    }
    self->request(state.peers[r], caf::infinite, Ref<net::GradientChunk>(std::move(chunk)))
        .then(
            [self, owner](const Ref<net::GradientSum>& sum) {
              if (self->state.stream) {
                take_sum(self, owner, *sum);
              }
            },
            [self, owner](const caf::error& error) {
              fail(self, from_caf(error).with(
                             fmt::format("reducing gradients with rank {}", raw(owner))));
            });
  }
}

Result<LocalShare> compute(Learner& learner, Executor& executor, const Batch& batch) {
  TROUPE_ASSIGN_OR_RETURN(const auto share, learner.compute(executor, batch));
  LocalShare local{share.loss_sum, share.weight, {}};
  if (share.weight > 0) {
    Buffer copy(share.gradient.size_bytes());
    std::ranges::copy(share.gradient, copy.as<float>().begin());
    local.gradient = std::move(copy).freeze();
  }
  return local;
}

void train(Trainer* self, Ref<ReadyBatch> ready) {
  auto& state = self->state;
  const auto began = SteadyClock::now();
  offload(
      self, *state.executor,
      [learner = state.learner, executor = state.executor, ready = std::move(ready)] {
        return compute(*learner, *executor, ready->batch);
      },
      [self, began](const Result<LocalShare>& share) {
        if (!self->state.stream) {
          return;
        }
        if (!share) {
          return fail(self, share.error());
        }
        auto& result = self->state.stream->result;
        result.loss_sum += share->loss_sum;
        result.loss_weight += share->weight;
        result.counters.train_ns += ns_since(began);
        exchange(self, *share);
      });
}

// ---- scoring one batch (sampled evaluation) ----

void score(Trainer* self, Ref<ReadyBatch> ready) {
  auto& state = self->state;
  offload(
      self, *state.executor,
      [learner = state.learner, executor = state.executor, ready] {
        return learner->outputs(*executor, ready->batch);
      },
      [self, ready](const Result<Matrix>& outputs) {
        if (!self->state.stream) {
          return;
        }
        if (!outputs) {
          return fail(self, outputs.error());
        }
        auto& stream = *self->state.stream;
        const auto& options = self->state.options;
        const auto global = stream.step * options.world + raw(options.rank);
        const auto positions = stream.order->positions(stream.epoch, global);
        stream.scores.positions.insert(stream.scores.positions.end(), positions.begin(),
                                       positions.end());
        const auto flat = outputs->view().flat();
        stream.outputs.insert(stream.outputs.end(), flat.begin(), flat.end());
        stream.scores.labels.insert(stream.scores.labels.end(), ready->batch.labels.begin(),
                                    ready->batch.labels.end());
        step_done(self);
      });
}

// ---- the loop ----

void finish(Trainer* self) {
  auto stream = std::move(*self->state.stream);
  self->state.stream.reset();
  if (stream.purpose == Purpose::evaluate) {
    stream.scores.cols = static_cast<std::uint32_t>(self->state.learner->model().options().out_dim);
    stream.scores.outputs = Segment::of(std::move(stream.outputs));
    stream.promise.deliver(Ref<net::ScoreResult>(std::move(stream.scores)));
    return;
  }
  stream.result.wall_ns = ns_since(stream.began);
  stream.promise.deliver(Ref<net::EpochResult>(std::move(stream.result)));
}

void take(Trainer* self, Ref<ReadyBatch> ready) {
  auto& stream = *self->state.stream;
  if (stream.waiting_since) {
    stream.result.counters.wait_ns += ns_since(*stream.waiting_since);
    stream.waiting_since.reset();
  }
  account(stream.result.counters, *ready);
  if (self->state.options.collect->digest != DigestMode::off && stream.purpose == Purpose::train) {
    stream.result.batch_digests.push_back(ready->batch.digest);
  }
  stream.busy = true;
  if (self->state.options.take_only) {
    step_done(self);
  } else if (stream.purpose == Purpose::train) {
    train(self, std::move(ready));
  } else {
    score(self, std::move(ready));
  }
}

/// Goes on as far as possible: asks ahead, takes the next batch if it is here and nothing is under
/// way.
void pump(Trainer* self) {
  auto& stream = *self->state.stream;
  if (stream.busy) {
    return;
  }
  if (stream.step == stream.steps) {
    return finish(self);
  }
  ask_ahead(self);
  if (stream.step >= stream.batches) {  // no batch for this rank in the last step: weight 0
    stream.busy = true;
    if (self->state.options.take_only || stream.purpose == Purpose::evaluate) {
      return step_done(self);
    }
    return exchange(self, {});
  }
  if (auto ready = stream.ready.take()) {
    take(self, std::move(*ready));
  } else if (!stream.waiting_since) {
    stream.waiting_since = SteadyClock::now();
  }
}

void begin(Trainer* self, const std::string& role, Purpose purpose, std::uint32_t epoch) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  const auto order = state.options.orders.find(role);
  if (state.stream || order == state.options.orders.end()) {
    promise.deliver(to_caf(
        Error(Errc::failed_precondition,
              fmt::format("rank {}: expected to be idle and to know the seeds \"{}\", found {}",
                          raw(state.options.rank), role,
                          state.stream ? "an epoch under way" : "no such seeds"))));
    return;
  }
  auto& stream = state.stream.emplace();
  stream.order = order->second;
  stream.purpose = purpose;
  stream.epoch = epoch;
  const auto batches = stream.order->num_batches();
  const auto rank = raw(state.options.rank);
  stream.batches = batches > rank ? (batches - rank - 1) / state.options.world + 1 : 0;
  stream.steps = stream.order->num_steps(state.options.world);
  stream.promise = std::move(promise);
  stream.result.rank = state.options.rank;
  stream.result.epoch = epoch;
  pump(self);
}

// ---- reducing for the others ----

void take_share(Trainer* self, const Ref<net::GradientChunk>& share) {
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

void meet_peers(Trainer* self, const TrainerPeers& peers) {
  auto& state = self->state;
  state.peers = peers.trainers;
  if (state.learner) {
    const auto slice = gradient_slice(state.learner->model().num_parameters(), state.options.world,
                                      state.options.rank);
    state.reducer.emplace(state.options.world, slice.size);
  }
}

net::FinishResult final_digests(const TrainerState& state) {
  net::FinishResult result;
  result.rank = state.options.rank;
  if (state.learner) {
    result.parameters = digest_parameters(*state.learner->snapshot());
    result.best_parameters = digest_parameters(*state.learner->best());
  }
  return result;
}

/// A request that an actor leaves open when it dies is never answered: watch them.
void watch(Trainer* self, const caf::actor& collector) {
  self->monitor(collector);
  for (const auto& sampler : self->state.samplers) {
    self->monitor(sampler);
  }
  self->set_down_handler([self](const caf::down_msg& down) {
    fail(self, Error(Errc::peer_lost,
                     fmt::format("rank {}: a sampler or the collector ended: {}",
                                 raw(self->state.options.rank), from_caf(down.reason).what())));
    self->quit(down.reason);
  });
}

caf::behavior trainer(Trainer* self, TrainerOptions options, std::vector<caf::actor> samplers,
                      const caf::actor& collector, std::shared_ptr<Executor> executor,
                      std::shared_ptr<Learner> learner) {
  self->state.options = std::move(options);
  self->state.samplers = std::move(samplers);
  self->state.executor = std::move(executor);
  self->state.learner = std::move(learner);
  watch(self, collector);
  return {
      [self](const Ref<TrainerPeers>& peers) { meet_peers(self, *peers); },
      [self](const Ref<net::EpochRequest>& request) {
        begin(self, "train", Purpose::train, request->epoch);
      },
      [self](const Ref<net::ScoreRequest>& request) {
        begin(self, request->role, Purpose::evaluate, request->epoch);
      },
      [self](const Ref<net::GradientChunk>& share) { take_share(self, share); },
      [self](const Ref<net::KeepBest>&) {
        if (self->state.learner) {
          self->state.learner->keep_best();
        }
        return Ref<net::Done>(net::Done{});
      },
      [self](const Ref<ReadParameters>& request) {
        const auto& trained = *self->state.learner;
        return Ref<Snapshot>(Snapshot{request->best ? trained.best() : trained.snapshot()});
      },
      [self](const Ref<net::Finish>&) {
        return Ref<net::FinishResult>(final_digests(self->state));
      },
      run_continuation,
  };
}

}  // namespace

Result<caf::actor> spawn_trainer(caf::actor_system& system, TrainerOptions options,
                                 std::vector<caf::actor> samplers, const caf::actor& collector,
                                 std::shared_ptr<Executor> executor) {
  std::shared_ptr<Learner> learner;
  if (!options.take_only) {
    TROUPE_ASSIGN_OR_RETURN(learner, Learner::create(options.learner));
  }
  return system.spawn(trainer, std::move(options), std::move(samplers), collector,
                      std::move(executor), std::move(learner));
}

}  // namespace troupe
