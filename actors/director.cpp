#include "actors/director.hpp"

#include "actors/director_state.hpp"
#include "actors/offload.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>
#include <functional>

namespace troupe {
namespace director {
namespace {

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
void command(Self* self, const WatchedGroup& group, const Command& what, Take take) {
  const auto began = self->state.options.trace.now();
  broadcast<Reply>(self, name_of(what), group, what, [self, take, began, what](auto replies) {
    auto& state = self->state;
    state.options.trace.slice(name_of(what), began);
    state.recovery->answered();
    if (const Status taken = std::invoke(take, *state.conductor, std::move(replies)); !taken) {
      return end(self, taken.error());
    }
    lead(self);
  });
}

void lead_trainers(Self* self, const TrainerCommand& what) {
  const auto& trainers = self->state.trainers;
  std::visit(
      [&]<class C>(const C& c) {
        if constexpr (std::is_same_v<C, net::EpochRequest>) {
          command<net::EpochResult>(self, trainers, c, [](Conductor& conductor, auto replies) {
            return conductor.take_epochs(std::move(replies));
          });
        } else if constexpr (std::is_same_v<C, net::ScoreRequest>) {
          command<net::ScoreResult>(self, trainers, c, &Conductor::take_scores);
        } else if constexpr (std::is_same_v<C, net::KeepBest>) {
          command<net::Done>(self, trainers, c, [](Conductor& conductor, const auto&) {
            return conductor.take_kept();
          });
        } else {
          command<net::FinishResult>(self, trainers, c, &Conductor::take_finished);
        }
      },
      what);
}

/// All commands are carried out; the last state goes with the record.
void take_last_state(Self* self) {
  auto& state = self->state;
  broadcast<net::StateReply>(self, "hand over the last state", state.trainers.front(),
                             net::TakeState{.generation = state.recovery->generation()},
                             [self](const std::vector<net::StateReply>& replies) {
                               auto& now = self->state;
                               now.ended = RunEnd{now.conductor->record(), replies.front().state,
                                                  now.conductor->outputs()};
                               carry_out(self, now.checkpoints->finish());
                               watch_last_write(self);
                             });
}

struct TakeNow {};

void after_seconds(Self* self) {
  const std::chrono::duration<double> pause(self->state.options.checkpoints.seconds);
  self->delayed_send(self, std::chrono::duration_cast<std::chrono::milliseconds>(pause),
                     Ref<TakeNow>(TakeNow{}));
}

struct Begin {};

void begin(Self* self) {
  auto& state = self->state;
  if (state.options.checkpoints.seconds > 0) {
    after_seconds(self);
  }
  beat(self);
  const auto& start = *state.options.start;
  state.load_tables = state.options.load_tables && (start.tables || start.training.global_step > 0);
  carry_out(self, state.recovery->begin());
}

ActorGroup trainers_of(const DirectorOptions& options) {
  ActorGroup trainers;
  for (std::uint32_t rank = 0; rank < options.world; ++rank) {
    trainers.names.push_back(fmt::format("trainer {}", rank));
  }
  trainers.handle = [handle = options.trainer](std::size_t i) {
    return handle(static_cast<Rank>(i));
  };
  return trainers;
}

caf::behavior behavior(Self* self, DirectorOptions given) {
  auto& state = self->state;
  auto& options = state.options = std::move(given);
  state.conductor.emplace(options.conductor, options.progress);
  state.recovery.emplace(RecoveryOptions{.supervised = !options.supervisors.names.empty(),
                                         .return_deadline = options.return_deadline,
                                         .max_rollbacks = options.max_rollbacks});
  state.checkpoints.emplace(
      CheckpointManagerOptions{.start = options.start,
                               .schedule = options.checkpoints,
                               .write = static_cast<bool>(options.write_checkpoint)});
  constexpr int heartbeats_of_a_gap = 4;
  state.progress.emplace(options.step_deadline, heartbeats_of_a_gap * options.heartbeat);
  state.trainers = WatchedGroup(trainers_of(options));
  state.evaluators = WatchedGroup(options.evaluators);
  state.supervisors = WatchedGroup(options.supervisors);
  state.recovery_began = options.trace.now();
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  self->send(self, Ref<Begin>(Begin{}));
  return {
      [self](const Ref<Begin>&) { begin(self); },
      [self](const Ref<StopRun>&) {
        auto& now = self->state;
        carry_out(self, now.checkpoints->stop(now.conductor->record()));
        watch_last_write(self);
      },
      [self](const Ref<StillWriting>&) { on_still_writing(self); },
      [self](const Ref<ProcessesChanged>&) {
        carry_out(self, self->state.recovery->processes(missing_process(self)));
      },
      [self](const Ref<WaitedEnough>& what) {
        carry_out(self, self->state.recovery->waited_enough(what->wait));
      },
      [self](const Ref<Heartbeat>&) { beat(self); },
      [self](const Ref<TakeNow>&) {
        auto& now = self->state;
        carry_out(self, now.checkpoints->time_passed(now.conductor->record()));
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

void finish(Self* self) {
  auto& state = self->state;
  const auto& options = state.options;
  if (!options.write_tables) {
    return end(self, *std::move(state.ended));
  }
  const auto step = state.ended->state->global_step;
  offload(
      self, *options.io, [write = options.write_tables, step] { return write(step); },
      [self, generation = state.recovery->generation()](const Status& written) {
        auto& now = self->state;
        if (now.recovery->generation() != generation) {
          return;
        }
        if (written) {
          return end(self, *std::move(now.ended));
        }
        const auto why = Error(written.error()).with("writing learned rows");
        if (++now.not_written > now.options.max_rollbacks) {
          return end(self, why);
        }
        failed(self, why);  // a holder may be lost with the rows of the last state
      });
}

void lead(Self* self) {
  auto& state = self->state;
  carry_out(self, state.checkpoints->between_commands(state.conductor->record()));
  if (state.over) {
    return;
  }
  const auto next = state.conductor->next();
  if (const auto* to_trainers = std::get_if<ToTrainers>(&next)) {
    lead_trainers(self, to_trainers->command);
  } else if (const auto* to_evaluators = std::get_if<ToEvaluators>(&next)) {
    state.evaluation = to_evaluators->command;
    carry_out(self, state.recovery->evaluate());
  } else {
    take_last_state(self);
  }
}

void evaluate(Self* self) {
  const auto& evaluators = self->state.evaluators;
  std::visit(
      [&]<class C>(const C& c) {
        if constexpr (std::is_same_v<C, net::InferRequest>) {
          command<net::InferResult>(self, evaluators, c, &Conductor::take_inferred);
        } else {
          command<net::ScoreResult>(self, evaluators, c, &Conductor::take_scores);
        }
      },
      *self->state.evaluation);
}

}  // namespace director

caf::actor spawn_director(caf::actor_system& system, DirectorOptions options) {
  return system.spawn(director::behavior, std::move(options));
}

}  // namespace troupe
