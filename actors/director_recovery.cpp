// Signs of life, and how the run goes on after a loss.
#include "actors/director_state.hpp"

#include <algorithm>

namespace troupe::director {
namespace {

// ---- recovery ----

void resume(Self* self) {
  auto& state = self->state;
  state.recovering = false;
  state.options.trace.slice(state.round > 0 ? "recover" : "begin", state.recovery_began);
  if (const auto steps = state.options.checkpoints.steps; steps > 0) {
    take_state(self, {.multiple_of = steps, .after_step = state.after_step}, false);
  }
  lead(self);
}

void introduce(Self* self) {
  const net::Introduce message{self->state.conductor->generation()};
  const auto& state = self->state;
  broadcast<net::Done>(self, "tell its actors of each other",
                       {state.supervisors, state.options.supervisors.names}, message,
                       [self](const auto&) {
                         meet(self);
                         roll_back(self);
                       });
}

void regroup(Self* self) {
  auto& state = self->state;
  const net::Regroup message{state.conductor->generation(), {state.lost.begin(), state.lost.end()}};
  broadcast<net::Done>(self, "start again what is lost",
                       {state.supervisors, state.options.supervisors.names}, message,
                       [self](const auto&) {
                         self->state.lost.clear();
                         introduce(self);
                       });
}

// ---- signs of life ----

/// Whoever is waited for in vain ends the run, in any phase. A process that is not back has a deadline of
/// its own.
void expect_progress(Self* self) {
  auto& state = self->state;
  if (state.when_there) {
    return;
  }
  if (const auto why = state.progress->overdue(self->clock().now())) {
    end(self, *why);
  }
}

void ping(Self* self, std::size_t rank) {
  auto& state = self->state;
  const auto is_current = [self, round = state.round] {
    return !self->state.over && !self->state.recovering && self->state.round == round;
  };
  self->request(state.trainers[rank], state.options.lost_after, Ref<net::Ping>(net::Ping{}))
      .then(
          [self, rank, is_current](const Ref<net::Pong>& pong) {
            if (!is_current()) {
              return;
            }
            if (!self->state.evaluating) {
              self->state.progress->heard(rank, *pong, self->clock().now());
            }
          },
          [self, rank, is_current](const caf::error& error) {
            if (is_current()) {
              self->state.lost.insert(static_cast<Rank>(rank));
              const bool silent = error == caf::sec::request_timeout;
              const auto how =
                  silent ? fmt::format("for {} ms", self->state.options.lost_after.count())
                         : from_caf(error).what();
              recover(self, Error(Errc::peer_lost,
                                  fmt::format("trainer {}: no sign of life {}", rank, how)));
            }
          });
}

/// What it has done counts; its process's links tell whether it lives.
void ask_evaluator(Self* self, std::size_t index) {
  auto& state = self->state;
  self->request(state.evaluators[index], state.options.lost_after, Ref<net::Ping>(net::Ping{}))
      .then(
          [self, index, round = state.round](const Ref<net::Pong>& pong) {
            auto& now = self->state;
            if (!now.over && now.evaluating && now.round == round) {
              now.progress->heard(index, *pong, self->clock().now());
            }
          },
          [](const caf::error&) {});
}

}  // namespace

void roll_back(Self* self) {
  auto& state = self->state;
  net::Restore restore;
  restore.generation = state.conductor->generation();
  restore.state = std::shared_ptr<const TrainingState>(state.last, &state.last->training);
  const auto names = trainer_names(state);
  broadcast<net::Done>(
      self, "go back to the last state", {state.trainers, names}, restore, [self](const auto&) {
        auto& now = self->state;
        const auto& to = *now.last;
        if (const auto restored = now.conductor->restore(to.training, to.record); !restored) {
          return end(self, restored.error());
        }
        now.after_step = to.training.global_step;
        now.stage = 2 * to.record.epochs.size() + (is_over(to.record) ? 1 : 0);
        resume(self);
      });
}

void recover(Self* self, const Error& why) {
  auto& state = self->state;
  if (state.over) {
    return;
  }
  if (state.options.supervisors.names.empty() || ++state.rollbacks > state.options.max_rollbacks) {
    return end(self, why);
  }
  ++state.round;
  if (!std::exchange(state.recovering, true)) {
    state.recovery_began = state.options.trace.now();
  }
  state.early.reset();
  state.evaluating = false;
  forget_members(self);
  const auto generation = state.conductor->generation() + 1;
  state.conductor->set_generation(generation);
  if (state.options.on_generation) {
    state.options.on_generation(generation);
  }
  say(self, fmt::format("{}; all ranks go back to step {}", why.what(),
                        state.last->training.global_step));
  when_all_there(self, [self] { regroup(self); });
}

void beat(Self* self) {
  auto& state = self->state;
  expect_progress(self);
  if (state.over) {
    return;
  }
  if (!state.recovering && !state.options.supervisors.names.empty()) {
    for (std::size_t rank = 0; rank < state.trainers.size(); ++rank) {
      ping(self, rank);
    }
  }
  for (std::size_t i = 0; state.evaluating && i < state.evaluators.size(); ++i) {
    if (state.evaluators[i]) {
      ask_evaluator(self, i);
    }
  }
  self->delayed_send(self, state.options.heartbeat, Ref<Heartbeat>(Heartbeat{}));
}

}  // namespace troupe::director
