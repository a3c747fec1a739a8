#include "actors/director.hpp"

#include "actors/director_state.hpp"
#include "actors/offload.hpp"

#include <caf/all.hpp>

namespace troupe {
namespace director {
namespace {

/// Losses that a regrouping may mend. A tensor is not found when its holder was started anew.
bool may_recover(Errc code) {
  return code == Errc::peer_lost || code == Errc::fenced || code == Errc::not_found;
}

// What a command's time is called in the trace, and in errors.
const char* name_of(const net::EpochRequest& /*command*/) {
  return "train an epoch";
}
const char* name_of(const net::InferRequest& /*command*/) {
  return "infer a layer";
}
const char* name_of(const net::ScoreRequest& /*command*/) {
  return "score";
}
const char* name_of(const net::KeepBest& /*command*/) {
  return "keep the best parameters";
}
const char* name_of(const net::Finish& /*command*/) {
  return "finish";
}

/// As broadcast(); `take(replies)` goes to the conductor, then the next command follows.
template <class Reply, class Command, class Take>
void command(Self* self, const Group& group, const Command& what, Take take) {
  const auto began = self->state.options.trace.now();
  broadcast<Reply>(self, name_of(what), group, what, [self, take, began, what](auto replies) {
    self->state.options.trace.slice(name_of(what), began);
    if (const Status taken = take(std::move(replies)); !taken) {
      return end(self, taken.error());
    }
    lead(self);
  });
}

void lead_trainers(Self* self, const TrainerCommand& what) {
  auto* conductor = self->state.conductor.get();
  const auto& trainers = self->state.trainers;
  const auto names = trainer_names(self->state);
  std::visit(
      [&]<class C>(const C& c) {
        if constexpr (std::is_same_v<C, net::EpochRequest>) {
          command<net::EpochResult>(self, {trainers, names}, c, [conductor](auto r) {
            return conductor->take_epochs(std::move(r));
          });
        } else if constexpr (std::is_same_v<C, net::ScoreRequest>) {
          command<net::ScoreResult>(self, {trainers, names}, c, [conductor](const auto& r) {
            return conductor->take_scores(r);
          });
        } else if constexpr (std::is_same_v<C, net::KeepBest>) {
          command<net::Done>(self, {trainers, names}, c,
                             [conductor](const auto&) { return conductor->take_kept(); });
        } else {
          command<net::FinishResult>(self, {trainers, names}, c, [conductor](const auto& r) {
            return conductor->take_finished(r);
          });
        }
      },
      what);
}

void lead_evaluators(Self* self, const EvaluatorCommand& what) {
  auto* conductor = self->state.conductor.get();
  const auto& evaluators = self->state.evaluators;
  const auto& names = self->state.options.evaluators.names;
  self->state.evaluating = true;
  std::visit(
      [&]<class C>(const C& c) {
        if constexpr (std::is_same_v<C, net::InferRequest>) {
          command<net::InferResult>(self, {evaluators, names}, c, [conductor](const auto& r) {
            return conductor->take_inferred(r);
          });
        } else {
          command<net::ScoreResult>(self, {evaluators, names}, c, [conductor](const auto& r) {
            return conductor->take_scores(r);
          });
        }
      },
      what);
}

/// The run is over; the last state goes with its record.
void finish(Self* self) {
  const std::vector<caf::actor> first = {self->state.trainers.front()};
  const std::vector<std::string> name = {trainer_names(self->state).front()};
  broadcast<net::StateReply>(
      self, "hand over the last state", {first, name},
      net::TakeState{.generation = self->state.conductor->generation()},
      [self](const std::vector<net::StateReply>& replies) {
        auto& conductor = *self->state.conductor;
        end(self, RunEnd{conductor.record(), replies.front().state, conductor.outputs()});
      });
}

struct TakeNow {};

void stop(Self* self) {
  auto& state = self->state;
  state.stopping = true;
  if (state.recovering) {
    return write_last(self);
  }
  take_state(self, {}, true);
}

void after_seconds(Self* self) {
  const std::chrono::duration<double> pause(self->state.options.checkpoints.seconds);
  self->delayed_send(self, std::chrono::duration_cast<std::chrono::milliseconds>(pause),
                     Ref<TakeNow>(TakeNow{}));
}

struct Begin {};

void begin(Self* self) {
  auto& state = self->state;
  meet(self);
  if (state.options.checkpoints.seconds > 0) {
    after_seconds(self);
  }
  beat(self);
  roll_back(self);
}

caf::behavior behavior(Self* self, DirectorOptions options) {
  auto& state = self->state;
  state.options = std::move(options);
  state.conductor = std::make_unique<Conductor>(state.options.conductor, state.options.progress);
  state.last = state.options.start;
  state.progress.emplace(state.options.step_deadline);
  state.recovering = true;
  state.recovery_began = state.options.trace.now();
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  self->send(self, Ref<Begin>(Begin{}));
  return {
      [self](const Ref<Begin>&) { begin(self); },
      [self](const Ref<StopRun>&) { stop(self); },
      [self](const Ref<ProcessesChanged>&) { processes_changed(self); },
      [self](const Ref<WaitedEnough>& wait) { waited_enough(self, *wait); },
      [self](const Ref<Heartbeat>&) { beat(self); },
      [self](const Ref<TakeNow>&) {
        if (!self->state.recovering) {
          take_state(self, {}, true);
        }
        after_seconds(self);
      },
      run_continuation,
  };
}

}  // namespace

void say(const Self* self, const std::string& what) {
  self->state.options.trace.mark(what);
  if (self->state.options.say) {
    self->state.options.say(what);
  }
}

void end(Self* self, Result<RunEnd> result) {
  if (!std::exchange(self->state.over, true)) {
    self->state.options.on_end(std::move(result));
    self->quit();
  }
}

void end_if_stopped(Self* self) {
  const auto& state = self->state;
  if (state.stopping && state.stop_kept && !state.writing && !state.to_write) {
    end(self, Error(Errc::cancelled, "interrupted"));
  }
}

void failed(Self* self, const Error& why) {
  if (self->state.over) {
    return;
  }
  if (may_recover(why.code())) {
    recover(self, why);
  } else {
    end(self, why);
  }
}

void lead(Self* self) {
  auto& state = self->state;
  state.evaluating = false;
  if (state.early) {
    const auto early = std::exchange(state.early, nullptr);
    keep(self, early, state.stopping, early->epoch - 1);
    end_if_stopped(self);
  }
  const auto next = state.conductor->next();
  take_state_between_epochs(self);
  if (const auto* to_trainers = std::get_if<ToTrainers>(&next)) {
    lead_trainers(self, to_trainers->command);
  } else if (const auto* to_evaluators = std::get_if<ToEvaluators>(&next)) {
    when_all_there(self, [self, what = to_evaluators->command] { lead_evaluators(self, what); });
  } else {
    finish(self);
  }
}

}  // namespace director

caf::actor spawn_director(caf::actor_system& system, DirectorOptions options) {
  return system.spawn(director::behavior, std::move(options));
}

}  // namespace troupe
