#include "actors/session_rank.hpp"

#include "actors/error.hpp"
#include "actors/session_rank_state.hpp"
#include "runtime/run/epoch_counters.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe {
namespace session_rank {

std::string rank_name(const State& state) {
  return fmt::format("rank {}", raw(state.options.rank));
}

namespace {

using SteadyClock = std::chrono::steady_clock;

// ---- the data path ----

/// Asks the data path as it is now; `then(result)` comes unless it was started anew meanwhile.
template <class Then>
void ask(Self* self, std::uint64_t number, const Ref<SampleBatch>& request, Then then) {
  const auto& path = self->state.path;
  const auto is_current = [self, incarnation = path->incarnation()] {
    return self->state.path->incarnation() == incarnation;
  };
  const bool travels = request->options == BatchOptions::job;
  self->request(travels ? path->sampler(number) : path->sampler_here(number), caf::infinite,
                request)
      .then(
          [self, request, is_current, then](const Ref<ReadyBatch>& ready) {
            if (is_current()) {
              self->state.path->batch_arrived();
              const auto fits = check_answer(*request, *ready);
              then(fits ? Result<Ref<ReadyBatch>>(ready) : Result<Ref<ReadyBatch>>(fits.error()));
            }
          },
          [is_current, then](const caf::error& error) {
            const auto why = from_caf(error);
            // A lost sampler or collector is the down handler's business.
            if (is_current() && why.code() != Errc::peer_lost) {
              then(Result<Ref<ReadyBatch>>(why));
            }
          });
}

Ref<SampleBatch> request_of(const State& state, std::uint64_t number, bool with_seeds) {
  const auto& batches = state.stream->batches;
  SampleBatch message;
  message.key = batches.key(number);
  message.seed_type = batches.options().order->seeds().node_type;
  if (with_seeds) {
    message.seeds = batches.seeds(number);
  }
  message.sample = state.options.sample;
  message.collect = state.options.collect;
  message.options = BatchOptions::job;
  return Ref<SampleBatch>(std::move(message));
}

void pump(Self* self);

void ask_batch(Self* self, std::uint64_t number) {
  ask(self, number, request_of(self->state, number, true),
      [self, number, stream = self->state.stream->number](Result<Ref<ReadyBatch>> ready) {
        auto& now = self->state.stream;
        if (!now || now->number != stream) {
          return;
        }
        if (ready) {
          now->batches.put(number, *ready, size_bytes((*ready)->batch));
        } else {
          now->error = ready.error();
        }
        pump(self);
      });
}

void ask_question(Self* self, std::uint64_t id) {
  ask(self, id, self->state.questions.at(id).request, [self, id](Result<Ref<ReadyBatch>> ready) {
    auto node = self->state.questions.extract(id);
    if (node.empty()) {
      return;
    }
    auto& question = node.mapped();
    if (!ready) {
      question.promise.deliver(to_caf(ready.error()));
    } else if (question.next_batch) {
      question.promise.deliver(Ref<TakenBatch>(TakenBatch{*ready, false}));
    } else {
      question.promise.deliver(*ready);
    }
  });
}

void put_question(Self* self, Ref<SampleBatch> request, caf::response_promise promise,
                  bool next_batch) {
  auto& state = self->state;
  const auto id = state.next_question++;
  state.questions[id] = {std::move(request), std::move(promise), next_batch};
  ask_question(self, id);
}

/// A request that an actor leaves open when it dies is never answered: the data path is watched.
void on_down(Self* self, const caf::down_msg& down) {
  auto& state = self->state;
  if (!state.path->owns(down.source)) {
    return;
  }
  const auto restarted = state.path->restart(self, from_caf(down.reason));
  if (!restarted) {
    if (state.stream) {
      state.stream->error = restarted.error();
      pump(self);
    }
    auto questions = std::exchange(state.questions, {});
    for (auto& [id, question] : questions) {
      question.promise.deliver(to_caf(restarted.error()));
    }
    state.path->start(self);
    return;
  }
  if (state.stream) {
    state.stream->batches.ask_again();
    pump(self);
  }
  for (const auto& [id, question] : state.questions) {
    ask_question(self, id);
  }
}

// ---- batches ----

/// Asks ahead; hands out the next batch if one waits for it and it is here.
void pump(Self* self) {
  auto& stream = *self->state.stream;
  while (const auto number = stream.batches.ask()) {
    ask_batch(self, *number);
  }
  if (!stream.next) {
    return;
  }
  auto promise = *stream.next;
  if (stream.error) {
    stream.next.reset();
    promise.deliver(to_caf(Error(*stream.error).with(rank_name(self->state))));
  } else if (stream.batches.over()) {
    stream.next.reset();
    promise.deliver(Ref<TakenBatch>(TakenBatch{}));
  } else if (!stream.batches.has_batch()) {
    stream.next.reset();
    stream.taken = true;
    put_question(self, request_of(self->state, stream.batches.step(), false), promise, true);
  } else if (auto ready = stream.batches.take()) {
    stream.next.reset();
    stream.taken = true;
    if (const auto since = std::exchange(stream.waiting_since, std::nullopt)) {
      stream.counters.wait_ns += static_cast<std::uint64_t>((SteadyClock::now() - *since).count());
    }
    count_batch(stream.counters, **ready);
    promise.deliver(Ref<TakenBatch>(TakenBatch{*std::move(ready), true}));
  } else if (!stream.waiting_since) {
    stream.waiting_since = SteadyClock::now();
  }
}

void begin_epoch(Self* self, const BeginEpoch& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (state.ended) {
    return promise.deliver(to_caf(*state.ended));
  }
  BatchStreamOptions options;
  options.order = state.options.order;
  options.epoch = request.epoch;
  options.rank = state.options.rank;
  options.world = state.options.world;
  options.in_flight = state.options.batches_in_flight;
  options.budget_bytes = state.options.channel_budget;
  options.first_step = request.first_step;
  state.stream = Stream{BatchStream<Ref<ReadyBatch>>(std::move(options)), ++state.streams, false,
                        std::nullopt, std::nullopt};
  promise.deliver(Ref<EpochBegun>(EpochBegun{state.stream->batches.steps()}));
  pump(self);
}

void next_batch(Self* self) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (state.ended || !state.stream || state.stream->next) {
    return promise.deliver(to_caf(state.ended.value_or(
        Error(Errc::failed_precondition,
              fmt::format("{}: asked for a batch outside an epoch", rank_name(state))))));
  }
  auto& stream = *state.stream;
  if (std::exchange(stream.taken, false)) {
    stream.batches.end_step();
  }
  stream.next = std::move(promise);
  pump(self);
}

// ---- states ----

void answer_takes(State& state) {
  std::erase_if(state.takes, [&](WaitingTake& waiting) {
    const bool due = state.offered && state.offered->global_step > waiting.request.after_step;
    if (due) {
      waiting.promise.deliver(Ref<net::StateReply>(net::StateReply{state.offered}));
    }
    return due;
  });
  if (state.ended) {
    for (auto& waiting : std::exchange(state.takes, {})) {
      waiting.promise.deliver(to_caf(*state.ended));
    }
  }
}

void gather(Self* self, const GatherStates& request) {
  struct Progress {
    caf::response_promise promise;
    GatheredStates found;
    std::size_t missing = 0;
    bool failed = false;
  };
  auto& state = self->state;
  const auto progress = std::make_shared<Progress>();
  progress->promise = self->make_response_promise();
  progress->found.states.resize(state.peers.size());
  progress->missing = state.peers.size();
  net::TakeState take;
  take.multiple_of = 1;
  take.after_step = request.global_step - 1;
  for (std::size_t r = 0; r < state.peers.size(); ++r) {
    self->request(state.peers[r], caf::infinite, Ref<net::TakeState>(take))
        .then(
            [progress, r](const Ref<net::StateReply>& reply) {
              progress->found.states[r] = reply->state;
              if (--progress->missing == 0 && !progress->failed) {
                progress->promise.deliver(Ref<GatheredStates>(std::move(progress->found)));
              }
            },
            [progress, r](const caf::error& error) {
              --progress->missing;
              if (!std::exchange(progress->failed, true)) {
                progress->promise.deliver(
                    to_caf(from_caf(error).with(fmt::format("taking the state of rank {}", r))));
              }
            });
  }
}

// ---- the end ----

void end(Self* self, const Error& why) {
  auto& state = self->state;
  if (state.ended) {
    return;
  }
  state.ended = why;
  if (state.stream && state.stream->next) {
    state.stream->next->deliver(to_caf(why));
  }
  state.stream.reset();
  auto questions = std::exchange(state.questions, {});
  for (auto& [id, question] : questions) {
    question.promise.deliver(to_caf(why));
  }
  answer_takes(state);
  break_collectives(self, why);
}

caf::behavior behavior(Self* self, SessionRankOptions options, SpawnDataPath data_path) {
  auto& state = self->state;
  state.options = std::move(options);
  state.path = std::make_unique<DataPathKeeper>(std::move(data_path));
  state.path->start(self);
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  return {
      [self](const Ref<TrainerPeers>& peers) { self->state.peers = peers->trainers; },
      [self](const Ref<BeginEpoch>& request) { begin_epoch(self, *request); },
      [self](const Ref<NextBatch>&) { next_batch(self); },
      [self](const Ref<CountEpoch>&) {
        const auto& stream = self->state.stream;
        return Ref<CountedEpoch>(CountedEpoch{stream ? stream->counters : net::EpochCounters()});
      },
      [self](const Ref<SampleBatch>& request) {
        auto promise = self->make_response_promise();
        if (self->state.ended) {
          return promise.deliver(to_caf(*self->state.ended));
        }
        put_question(self, request, std::move(promise), false);
      },
      [self](const Ref<Contribute>& request) { contribute(self, *request); },
      [self](const Ref<net::GradientChunk>& share) { take_share(self, share); },
      [self](const Ref<OperationDeadline>& deadline) { check_deadline(self, *deadline); },
      [self](const Ref<OfferState>& offer) {
        self->state.offered = offer->state;
        answer_takes(self->state);
        return Ref<net::Done>(net::Done{});
      },
      [self](const Ref<GatherStates>& request) { gather(self, *request); },
      [self](const Ref<net::TakeState>& request) {
        self->state.takes.push_back({*request, self->make_response_promise()});
        answer_takes(self->state);
      },
      [self](const Ref<EndRank>& message) { end(self, message->why); },
  };
}

}  // namespace
}  // namespace session_rank

caf::actor spawn_session_rank(caf::actor_system& system, SessionRankOptions options,
                              SpawnDataPath data_path) {
  return system.spawn(session_rank::behavior, std::move(options), std::move(data_path));
}

}  // namespace troupe
