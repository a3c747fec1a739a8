// The steps of a recovery.
#include "actors/director_state.hpp"
#include "actors/offload.hpp"

#include <fmt/format.h>

namespace troupe::director {
namespace {

void start_generation(Self* self, const Recovery::StartGeneration& what) {
  auto& state = self->state;
  if (!state.recovery_began) {
    state.recovery_began = state.options.trace.now();
  }
  // Members that end from here on do so because a generation ends, or are found lost when met again.
  state.trainers.forget(self);
  state.evaluators.forget(self);
  state.conductor->set_generation(what.generation);
  if (state.options.on_generation) {
    state.options.on_generation(what.generation);
  }
  say(self, fmt::format("{}; all ranks go back to step {}", what.why.what(),
                        state.checkpoints->last()->training.global_step));
  carry_out(self, state.checkpoints->roll_back(what.generation));
}

/// Holders get the learned rows of the state first, if they have lost them.
void restore(Self* self, std::uint32_t generation);

void load_and_restore(Self* self, std::uint32_t generation) {
  auto& state = self->state;
  state.load_tables = false;
  const auto from = state.checkpoints->last();
  if (!from->tables && from->training.global_step == 0) {
    return restore(self, generation);
  }
  offload(
      self, *state.options.io, [from, load = state.options.load_tables] { return load(*from); },
      [self, generation](const Status& loaded) {
        auto& now = self->state;
        if (now.over || now.recovery->generation() != generation) {
          now.load_tables = true;
          return;
        }
        if (!loaded) {
          const auto why = Error(loaded.error()).with("putting learned rows back");
          if (why.code() != Errc::peer_lost) {
            return end(self, why);
          }
          now.load_tables = true;  // a holder was lost meanwhile
          return failed(self, why);
        }
        restore(self, generation);
      });
}

void restore(Self* self, std::uint32_t generation) {
  auto& state = self->state;
  if (state.load_tables) {
    return load_and_restore(self, generation);
  }
  const auto to = state.checkpoints->last();
  net::Restore message;
  message.generation = generation;
  message.state = std::shared_ptr<const TrainingState>(to, &to->training);
  broadcast<net::Done>(
      self, "go back to the last state", state.trainers, message, [self, to](const auto&) {
        auto& now = self->state;
        if (const auto restored = now.conductor->restore(to->training, to->record); !restored) {
          return end(self, restored.error());
        }
        carry_out(self, now.recovery->restored());
      });
}

void resume(Self* self) {
  auto& state = self->state;
  state.options.trace.slice(state.recovery->generation() > 0 ? "recover" : "begin",
                            *std::exchange(state.recovery_began, std::nullopt));
  carry_out(self, state.checkpoints->restored(state.conductor->record()));
  lead(self);
}

struct RecoveryStep {
  Self* self;
  State& state = self->state;

  void operator()(const Recovery::StartGeneration& what) { start_generation(self, what); }
  void operator()(const Recovery::FindProcesses&) {
    carry_out(self, state.recovery->processes(missing_process(self)));
  }
  void operator()(const Recovery::SetDeadline& what) {
    self->delayed_send(self, what.after, Ref<WaitedEnough>(WaitedEnough{what.wait}));
  }
  void operator()(const Recovery::Regroup& what) {
    broadcast<net::Done>(
        self, "start again what is lost", state.supervisors, what.message,
        [to = self](const auto&) { carry_out(to, to->state.recovery->regrouped()); });
  }
  void operator()(const Recovery::Introduce& what) {
    broadcast<net::Done>(
        self, "tell its actors of each other", state.supervisors, what.message,
        [to = self](const auto&) { carry_out(to, to->state.recovery->introduced()); });
  }
  void operator()(const Recovery::Meet&) {
    state.trainers.meet(self);
    state.evaluators.meet(self);
    state.supervisors.meet(self);
  }
  void operator()(const Recovery::MeetEvaluators&) { state.evaluators.meet(self); }
  void operator()(const Recovery::Restore& what) { restore(self, what.generation); }
  void operator()(const Recovery::Resume&) { resume(self); }
  void operator()(const Recovery::Evaluate&) { evaluate(self); }
  void operator()(const Recovery::End& what) { end(self, what.why); }
};

/// A holder has lost learned rows: all go back to what the disk has, or to the start.
void fall_back(Self* self, const Error& why) {
  auto& state = self->state;
  if (std::exchange(state.falls_back, true)) {
    return;
  }
  using Found = Result<std::shared_ptr<const Checkpoint>>;
  const auto find = [newest = state.options.newest_checkpoint]() -> Found {
    return newest ? newest() : Found(nullptr);
  };
  offload(self, *state.options.io, find, [self, why](Found found) {
    auto& now = self->state;
    now.falls_back = false;
    if (!found) {
      // From the start, the run would take the checkpoints that it cannot read now for later ones, and remove them.
      return end(self,
                 std::move(found).error().with("going back to a checkpoint after: " + why.what()));
    }
    now.load_tables = true;
    now.checkpoints->fall_back(*std::move(found));
    carry_out(self, now.recovery->failed(why));
  });
}

}  // namespace

void carry_out(Self* self, const Recovery::Actions& actions) {
  for (const auto& action : actions) {
    if (!self->state.over) {
      std::visit(RecoveryStep{self}, action);
    }
  }
}

void failed(Self* self, const Error& why) {
  auto& state = self->state;
  if (state.options.load_tables && why.code() == Errc::not_found) {
    return fall_back(self, why);
  }
  carry_out(self, state.recovery->failed(why));
}

}  // namespace troupe::director
