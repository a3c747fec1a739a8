// States of training: requested from rank 0, and written.
#include "actors/director_state.hpp"
#include "actors/offload.hpp"

#include <fmt/format.h>

namespace troupe::director {
namespace {

void take_state(Self* self, const CheckpointManager::TakeState& what) {
  self->request(self->state.trainers.actors().front(), caf::infinite,
                Ref<net::TakeState>(what.request))
      .then(
          [self, what](const Ref<net::StateReply>& reply) {
            auto& now = self->state;
            carry_out(self, now.checkpoints->taken(what, reply->state, now.conductor->record()));
          },
          [self](const caf::error&) {  // its loss is noticed elsewhere
            carry_out(self, self->state.checkpoints->not_taken());
          });
}

void say_some(const Self* self, const std::string& line) {
  if (!line.empty()) {
    say(self, line);
  }
}

void report_write(Self* self, std::uint64_t step, const Status& written) {
  auto& state = self->state;
  if (!written) {
    const auto count = state.unwritten.add();
    return say_some(
        self, state.unwritten.take(fmt::format("checkpoint of step {} not written{}: {}", step,
                                               count, written.error().what())));
  }
  state.options.trace.mark(fmt::format("checkpoint of step {}", step));
  if (const auto failures = state.unwritten.end(); failures > 0) {
    say(self, fmt::format("checkpoint of step {} is written, after {} that could not be", step,
                          failures));
  }
}

void write(Self* self, const std::shared_ptr<const Checkpoint>& what) {
  auto& options = self->state.options;
  const auto step = what->training.global_step;
  offload(
      self, *options.io, [what, write = options.write_checkpoint] { return write(*what); },
      [self, step](const Status& written) {
        report_write(self, step, written);
        carry_out(self, self->state.checkpoints->written());
      });
}

struct CheckpointStep {
  Self* self;

  void operator()(const CheckpointManager::TakeState& what) { take_state(self, what); }
  void operator()(const CheckpointManager::Write& what) { write(self, what.checkpoint); }
  void operator()(const CheckpointManager::NewState&) { self->state.recovery->new_state(); }
  void operator()(const CheckpointManager::End& what) {
    say_some(self, self->state.unwritten.take_held_back());
    end(self, what.why);
  }
  void operator()(const CheckpointManager::Finish&) {
    say_some(self, self->state.unwritten.take_held_back());
    finish(self);
  }
};

}  // namespace

void watch_last_write(Self* self) {
  if (!self->state.over) {
    self->delayed_send(self, self->state.options.quiet_wait, Ref<StillWriting>(StillWriting{}));
  }
}

void on_still_writing(Self* self) {
  const auto& what = self->state.checkpoints->written_now();
  if (!what) {
    watch_last_write(self);  // one may follow
  } else if (!self->state.over) {
    say(self, fmt::format("waiting until the checkpoint of step {} is written",
                          what->training.global_step));
  }
}

void carry_out(Self* self, const CheckpointManager::Actions& actions) {
  for (const auto& action : actions) {
    if (!self->state.over) {
      std::visit(CheckpointStep{self}, action);
    }
  }
}

}  // namespace troupe::director
