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

void write(Self* self, const std::shared_ptr<const Checkpoint>& what) {
  auto& options = self->state.options;
  const auto step = what->training.global_step;
  offload(
      self, *options.io, [what, write = options.write_checkpoint] { return write(*what); },
      [self, step](const Status& written) {
        if (written) {
          self->state.options.trace.mark(fmt::format("checkpoint of step {}", step));
        } else {
          say(self,
              fmt::format("checkpoint of step {} not written: {}", step, written.error().what()));
        }
        carry_out(self, self->state.checkpoints->written());
      });
}

struct CheckpointStep {
  Self* self;

  void operator()(const CheckpointManager::TakeState& what) { take_state(self, what); }
  void operator()(const CheckpointManager::Write& what) { write(self, what.checkpoint); }
  void operator()(const CheckpointManager::NewState&) { self->state.recovery->new_state(); }
  void operator()(const CheckpointManager::End& what) { end(self, what.why); }
  void operator()(const CheckpointManager::Finish&) { finish(self); }
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
