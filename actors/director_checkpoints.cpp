// States of training: taken to go back to, and written.
#include "actors/director_state.hpp"
#include "actors/offload.hpp"

namespace troupe::director {
namespace {

void write_next(Self* self) {
  auto& state = self->state;
  if (state.writing || !state.to_write) {
    return;
  }
  state.writing = true;
  auto what = std::exchange(state.to_write, nullptr);
  const auto step = what->training.global_step;
  offload(
      self, *state.options.io,
      [what, write = state.options.write_checkpoint] { return write(*what); },
      [self, step](const Status& written) {
        self->state.writing = false;
        if (written) {
          self->state.options.trace.mark(fmt::format("checkpoint of step {}", step));
        } else {
          say(self,
              fmt::format("checkpoint of step {} not written: {}", step, written.error().what()));
        }
        write_next(self);
        end_if_stopped(self);
      });
}

bool is_scheduled(const CheckpointSchedule& schedule, const TrainingState& at, bool asked) {
  const bool by_epoch = schedule.epochs > 0 && at.step == 0 && at.epoch % schedule.epochs == 0;
  const bool by_step = schedule.steps > 0 && at.global_step % schedule.steps == 0;
  return asked || by_epoch || by_step;
}

}  // namespace

bool is_over(const RunRecord& record) {
  return record.epochs.empty() || record.epochs.back().over;
}

void keep(Self* self, const std::shared_ptr<const TrainingState>& taken, bool asked,
          std::size_t over) {
  auto& state = self->state;
  const auto& record = state.conductor->record();
  if (record.epochs.size() < taken->epoch) {
    state.early = taken;  // the epoch's results are still on their way
    return;
  }
  auto checkpoint = std::make_shared<Checkpoint>();
  checkpoint->training = *taken;
  checkpoint->record = record;
  checkpoint->record.epochs.resize(taken->epoch);
  if (taken->step == 0 && taken->epoch > over) {
    checkpoint->record.epochs.back().over = false;
  }
  checkpoint->job = state.options.start->job;
  const bool is_new = !state.last || taken->global_step > state.last->training.global_step;
  if (is_new) {
    state.rollbacks = 0;
  }
  state.last = std::move(checkpoint);
  const bool due = taken->global_step > 0 &&
                   is_scheduled(state.options.checkpoints, *taken, asked) &&
                   (asked || taken->step > 0 || is_over(state.last->record));
  state.stop_kept = state.stop_kept || (state.stopping && asked);
  if (state.options.write_checkpoint && due) {
    state.to_write = state.last;
    write_next(self);
  }
}

void write_last(Self* self) {
  auto& state = self->state;
  state.stop_kept = true;
  if (state.options.write_checkpoint && state.last->training.global_step > 0) {
    state.to_write = state.last;
    write_next(self);
  }
  end_if_stopped(self);
}

void take_state(Self* self, net::TakeState request, bool asked) {
  auto& state = self->state;
  request.generation = state.conductor->generation();
  const auto& record = state.conductor->record();
  const std::size_t over = record.epochs.size() - (is_over(record) ? 0 : 1);
  self->request(state.trainers.front(), caf::infinite, Ref<net::TakeState>(request))
      .then(
          [self, asked, request, over, round = state.round](const Ref<net::StateReply>& reply) {
            auto& now = self->state;
            if (now.over || now.round != round) {
              return;
            }
            keep(self, reply->state, asked, over);
            if (request.multiple_of > 0) {
              take_state(
                  self,
                  {.multiple_of = request.multiple_of, .after_step = reply->state->global_step},
                  false);
            }
            end_if_stopped(self);
          },
          [self](const caf::error&) {  // its loss is noticed elsewhere
            if (!self->state.over && self->state.stopping) {
              write_last(self);
            }
          });
}

void take_state_between_epochs(Self* self) {
  auto& state = self->state;
  const auto& epochs = state.conductor->record().epochs;
  const std::uint64_t stage = 2 * epochs.size() + (is_over(state.conductor->record()) ? 1 : 0);
  if (state.stage != stage) {
    state.stage = stage;
    take_state(self, {}, false);
  }
}

}  // namespace troupe::director
