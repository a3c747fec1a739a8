#include "actors/trainer.hpp"

#include "actors/error.hpp"
#include "actors/offload.hpp"
#include "actors/trainer_state.hpp"
#include "runtime/nn/number_losses.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe {
namespace trainer {
namespace {

/// \param pass  without what is the same for all passes of the rank
/// \param next_follows  the rank's next pass is the next epoch
void begin(Self* self, EpochPassOptions pass, bool next_follows, caf::response_promise promise) {
  auto& state = self->state;
  const auto& options = state.options;
  const auto order = options.orders.find(pass.role);
  if (state.pass || order == options.orders.end()) {
    promise.deliver(to_caf(
        Error(Errc::failed_precondition,
              fmt::format("rank {}: expected to be idle and to know the seeds \"{}\", found {}",
                          raw(options.rank), pass.role,
                          state.pass ? "an epoch under way" : "no such seeds"))));
    return;
  }
  const bool scores = pass.stream.purpose == Purpose::evaluate;
  pass.learns = state.learner.actor != nullptr;
  pass.sample = scores && options.eval_sample ? options.eval_sample : options.sample;
  pass.next_sample = options.sample;
  pass.collect = options.collect;
  pass.numbers = options.learner.task == "node" && nn::predicts_numbers(options.learner.loss);
  pass.traced = options.trace.on();
  pass.stream.order = order->second;
  pass.stream.rank = options.rank;
  pass.stream.world = options.world;
  pass.stream.ahead = state.ahead;
  pass.stream.budget_bytes = options.channel_budget;
  pass.stream.lookahead = scores ? 0 : options.lookahead;
  if (next_follows) {
    auto& next = pass.next.emplace(pass.stream);
    next.order = options.orders.at("train");
    next.purpose = Purpose::train;
    next.epoch = pass.score_epoch.value_or(next.epoch) + 1;
    next.first_step = 0;
    next.max_batches = 0;
    next.lookahead = options.lookahead;
  }
  ++state.pass_number;
  state.last_scores.reset();
  state.pass.emplace(std::move(pass), state.position, SteadyClock::now(),
                     std::exchange(state.next, std::nullopt));
  state.promises.push_back(std::move(promise));
  pump(self);
}

void begin_epoch(Self* self, const net::EpochRequest& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (request.generation != state.generation) {
    const bool old = request.generation < state.generation;
    promise.deliver(
        to_caf(Error(old ? Errc::fenced : Errc::failed_precondition,
                     fmt::format("rank {}: asked to train in generation {}, is in {}",
                                 raw(state.options.rank), request.generation, state.generation))));
    return;
  }
  if (state.pass && state.pass->answers(request)) {
    state.promises.push_back(std::move(promise));
    return;
  }
  if (state.last_epoch && state.last_epoch->epoch == request.epoch) {
    promise.deliver(Ref<net::EpochResult>(*state.last_epoch));
    return;
  }
  if (state.position.epoch != request.epoch) {
    promise.deliver(to_caf(
        Error(Errc::failed_precondition,
              fmt::format("rank {}: asked for epoch {}, stands in epoch {}",
                          raw(state.options.rank), request.epoch + 1, state.position.epoch + 1))));
    return;
  }
  if (state.learner.actor) {
    self->send(state.learner.actor, Ref<BeginLearning>(BeginLearning{request.epoch}));
  }
  EpochPassOptions pass;
  pass.role = "train";
  pass.stream.epoch = request.epoch;
  pass.stream.first_step = state.position.step;
  begin(self, std::move(pass), request.next_follows, std::move(promise));
}

void begin_scoring(Self* self, const net::ScoreRequest& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (state.pass && state.pass->answers(request)) {
    state.promises.push_back(std::move(promise));
    return;
  }
  if (const auto& last = state.last_scores;
      !state.pass && last && last->first.role == request.role &&
      last->first.epoch == request.epoch && last->first.best == request.best) {
    promise.deliver(last->second);
    return;
  }
  EpochPassOptions pass;
  pass.role = request.role;
  pass.best = request.best;
  pass.stream.purpose = Purpose::evaluate;
  pass.stream.epoch = state.options.eval_sample ? 0 : request.epoch;
  pass.score_epoch = request.epoch;
  pass.stream.max_batches = request.best ? 0 : state.options.max_eval_batches;
  begin(self, std::move(pass), request.next_follows, std::move(promise));
}

void finish(Self* self) {
  const auto& state = self->state;
  auto promise = self->make_response_promise();
  if (!state.learner.actor) {
    return promise.deliver(Ref<net::FinishResult>(net::FinishResult{state.options.rank, {}, {}}));
  }
  digest_learned(self, [self, promise](Result<std::vector<TableDigest>> tables) mutable {
    if (!tables) {
      return promise.deliver(to_caf(tables.error()));
    }
    self->request(self->state.learner.actor, caf::infinite, Ref<net::Finish>(net::Finish{}))
        .then(
            [self, promise,
             tables = *std::move(tables)](const Ref<net::FinishResult>& digests) mutable {
              auto result = *digests;
              result.rank = self->state.options.rank;
              result.tables = std::move(tables);
              promise.deliver(Ref<net::FinishResult>(std::move(result)));
            },
            [promise](const caf::error& error) mutable { promise.deliver(error); });
  });
}

void keep_best(Self* self, const Ref<net::KeepBest>& keep) {
  auto promise = self->make_response_promise();
  if (!self->state.learner.actor) {
    return promise.deliver(Ref<net::Done>(net::Done{}));
  }
  keep_learned(self, {.best = true}, [self, keep, promise](const Status& kept) mutable {
    if (!kept) {
      return promise.deliver(to_caf(kept.error()));
    }
    self->request(self->state.learner.actor, caf::infinite, keep)
        .then([promise](const Ref<net::Done>& done) mutable { promise.deliver(done); },
              [promise](const caf::error& error) mutable { promise.deliver(error); });
  });
}

void read_parameters(Self* self, const Ref<net::ReadParameters>& request,
                     caf::response_promise promise) {
  const auto& state = self->state;
  self->request(state.learner.actor, caf::infinite, request)
      .then(
          [promise, generation = state.generation,
           step = state.position.global_step](const Ref<net::ParameterVector>& read) mutable {
            auto parameters = *read;
            parameters.generation = generation;
            parameters.step = step;
            promise.deliver(Ref<net::ParameterVector>(std::move(parameters)));
          },
          [promise](const caf::error& error) mutable { promise.deliver(error); });
}

void on_down(Self* self, const caf::down_msg& down) {
  self->state.learned->on_down(down);
  if (const auto mended = self->state.path->on_down(down); !mended) {
    self->quit(to_caf(mended.error()));
  }
}

caf::behavior behavior(Self* self, TrainerOptions options, SpawnDataPath data_path,
                       LearnerHandle learner) {
  auto& state = self->state;
  state.options = std::move(options);
  state.generation = state.options.generation;
  state.ahead = std::make_shared<BatchesAhead>(state.options.ahead);
  state.learner = std::move(learner);
  if (state.learner.actor) {
    self->link_to(state.learner.actor);
  }
  state.path.emplace(self, std::move(data_path));
  state.learned.emplace(self, state.options.learned, state.options.rank,
                        [self](const Error& why) { learned_failed(self, why); });
  state.learned->set_generation(state.generation);
  state.exchange.emplace(self, state.options.rank, state.options.world);
  state.route.emplace(state.options.rank, state.options.world, state.learner.means);
  state.exchange->decide_with([self](std::span<const GradientReducer::Share> shares,
                                     net::GradientSum& sum) { decide(self, shares, sum); });
  state.exchange->begin_generation(state.generation, Error(Errc::fenced, "a trainer begins"));
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  return {
      [self](const Ref<TrainerPeers>& peers) { self->state.exchange->set_peers(peers->trainers); },
      [self](const Ref<net::EpochRequest>& request) { begin_epoch(self, *request); },
      [self](const Ref<net::ScoreRequest>& request) { begin_scoring(self, *request); },
      [self](const Ref<net::GradientChunk>& share) { take_share(self, share); },
      [self](const Ref<net::TakeState>& request) { take_state(self, *request); },
      [self](const Ref<net::Restore>& request) { restore(self, request); },
      [self](const Ref<net::KeepBest>& keep) { keep_best(self, keep); },
      [self](const Ref<net::ReadParameters>& request) {
        const auto& learned = self->state.learner.actor;
        auto promise = self->make_response_promise();
        if (learned) {
          read_parameters(self, request, std::move(promise));
        } else {
          promise.deliver(to_caf(
              Error(Errc::failed_precondition,
                    fmt::format("trainer of rank {}: asked for parameters, it only takes batches",
                                raw(self->state.options.rank)))));
        }
      },
      [self](const Ref<net::Finish>&) { finish(self); },
      [self](const Ref<net::Ping>&) {
        const auto& now = self->state;
        const bool waits =
            now.exchange->waits() || now.learned->waits() || (now.applying && now.meets);
        return Ref<net::Pong>(net::Pong{now.position.global_step, !now.pass || waits, now.work});
      },
      [self](const Ref<StillFenced>& fenced) {
        if (self->state.generation == fenced->generation) {
          self->quit(to_caf(fenced->why));
        }
      },
      [self](const Ref<Resume>& after) {
        if (self->state.pass && self->state.pass_number == after->pass) {
          self->state.pass->resume();
          pump(self);
        }
      },
      run_continuation,
  };
}

}  // namespace
}  // namespace trainer

caf::actor spawn_trainer(caf::actor_system& system, TrainerOptions options, SpawnDataPath data_path,
                         LearnerHandle learner) {
  return system.spawn(trainer::behavior, std::move(options), std::move(data_path),
                      std::move(learner));
}

}  // namespace troupe
