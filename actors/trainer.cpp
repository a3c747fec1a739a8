#include "actors/trainer.hpp"

#include "actors/error.hpp"
#include "actors/offload.hpp"
#include "actors/trainer_state.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe {
namespace trainer {
namespace {

struct PassRequest {
  std::string role;
  Purpose purpose = Purpose::train;
  std::uint32_t epoch = 0;
  bool best = false;  ///< with the best epoch's parameters, and all seeds
};

void begin(Self* self, const PassRequest& request, caf::response_promise promise) {
  auto& state = self->state;
  const auto order = state.options.orders.find(request.role);
  if (state.pass || order == state.options.orders.end()) {
    promise.deliver(to_caf(
        Error(Errc::failed_precondition,
              fmt::format("rank {}: expected to be idle and to know the seeds \"{}\", found {}",
                          raw(state.options.rank), request.role,
                          state.pass ? "an epoch under way" : "no such seeds"))));
    return;
  }
  BatchStreamOptions options;
  options.order = order->second;
  options.purpose = request.purpose;
  options.epoch = request.epoch;
  options.rank = state.options.rank;
  options.world = state.options.world;
  options.in_flight = state.options.batches_in_flight;
  options.budget_bytes = state.options.channel_budget;
  if (request.purpose == Purpose::train) {
    options.first_step = state.position.step;
  } else {
    options.max_batches = request.best ? 0 : state.options.max_eval_batches;
  }
  ++state.pass_number;
  state.last_scores.reset();
  state.pass.emplace(std::move(options), request.role);
  state.pass->best = request.best;
  state.pass->promises.push_back(std::move(promise));
  state.last_step = SteadyClock::now();
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
  if (state.pass && state.pass->role == "train" &&
      state.pass->stream.options().epoch == request.epoch) {
    state.pass->promises.push_back(std::move(promise));
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
  begin(self, {"train", Purpose::train, request.epoch}, std::move(promise));
}

void begin_scoring(Self* self, const net::ScoreRequest& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (state.pass && state.pass->role == request.role && state.pass->best == request.best &&
      state.pass->stream.options().purpose == Purpose::evaluate &&
      state.pass->stream.options().epoch == request.epoch) {
    state.pass->promises.push_back(std::move(promise));
    return;
  }
  if (const auto& last = state.last_scores;
      !state.pass && last && last->first.role == request.role &&
      last->first.epoch == request.epoch && last->first.best == request.best) {
    promise.deliver(last->second);
    return;
  }
  begin(self, {request.role, Purpose::evaluate, request.epoch, request.best}, std::move(promise));
}

void finish(Self* self) {
  const auto& state = self->state;
  auto promise = self->make_response_promise();
  if (!state.learner.actor) {
    return promise.deliver(Ref<net::FinishResult>(net::FinishResult{state.options.rank, {}, {}}));
  }
  self->request(state.learner.actor, caf::infinite, Ref<net::Finish>(net::Finish{}))
      .then(
          [self, promise](const Ref<net::FinishResult>& digests) mutable {
            auto result = *digests;
            result.rank = self->state.options.rank;
            promise.deliver(Ref<net::FinishResult>(result));
          },
          [promise](const caf::error& error) mutable { promise.deliver(error); });
}

void on_down(Self* self, const caf::down_msg& down) {
  if (const auto mended = self->state.path->on_down(down); !mended) {
    self->quit(to_caf(mended.error()));
  }
}

caf::behavior behavior(Self* self, TrainerOptions options, SpawnDataPath data_path,
                       LearnerHandle learner) {
  auto& state = self->state;
  state.options = std::move(options);
  state.generation = state.options.generation;
  state.learner = std::move(learner);
  if (state.learner.actor) {
    self->link_to(state.learner.actor);
  }
  state.path.emplace(self, std::move(data_path));
  state.exchange.emplace(self, state.options.rank, state.options.world);
  state.exchange->begin_generation(state.generation, Error(Errc::fenced, "a trainer begins"));
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  return {
      [self](const Ref<TrainerPeers>& peers) { self->state.exchange->set_peers(peers->trainers); },
      [self](const Ref<net::EpochRequest>& request) { begin_epoch(self, *request); },
      [self](const Ref<net::ScoreRequest>& request) { begin_scoring(self, *request); },
      [self](const Ref<net::GradientChunk>& share) { take_share(self, share); },
      [self](const Ref<net::TakeState>& request) { take_state(self, *request); },
      [self](const Ref<net::Restore>& request) { restore(self, request); },
      [self](const Ref<net::KeepBest>& keep) {
        const auto& learned = self->state.learner.actor;
        auto promise = self->make_response_promise();
        if (learned) {
          promise.delegate(learned, keep);
        } else {
          promise.deliver(Ref<net::Done>(net::Done{}));
        }
      },
      [self](const Ref<net::ReadParameters>& request) {
        const auto& learned = self->state.learner.actor;
        auto promise = self->make_response_promise();
        if (learned) {
          promise.delegate(learned, request);
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
        return Ref<net::Pong>(
            net::Pong{now.position.global_step, !now.pass || now.exchange->waits(), now.work});
      },
      [self](const Ref<StillFenced>& fenced) {
        if (self->state.generation == fenced->generation) {
          self->quit(to_caf(fenced->why));
        }
      },
      [self](const Ref<Resume>& after) {
        if (self->state.pass && self->state.pass_number == after->pass) {
          self->state.pass->busy = false;
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
