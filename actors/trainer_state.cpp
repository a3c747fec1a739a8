// States of training: given away between two steps, and put back at a roll-back.
#include "actors/trainer_state.hpp"

#include "actors/error.hpp"
#include "actors/offload.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe::trainer {
namespace {

net::TrainingState snapshot(const State& state) {
  net::TrainingState taken = state.position;
  if (state.learner) {
    auto optimizer = state.learner->optimizer_state();
    taken.parameters = *state.learner->snapshot();
    taken.optimizer = {optimizer.steps, std::move(optimizer.arrays)};
    if (state.learner->has_best()) {
      taken.best = *state.learner->best();
    }
  }
  return taken;
}

Error fenced_error(const State& state, std::uint32_t asked) {
  return {Errc::fenced, fmt::format("rank {}: generation {} is over, now {}",
                                    raw(state.options.rank), asked, state.generation)};
}

bool is_due(const net::TakeState& request, std::uint64_t global_step) {
  return request.multiple_of == 0 ||
         (global_step > request.after_step && global_step % request.multiple_of == 0);
}

void restore_now(Self* self, const net::Restore& request, caf::response_promise& promise) {
  auto& state = self->state;
  const auto& from = *request.state;
  if (state.learner) {
    const nn::OptimizerState optimizer{from.optimizer.steps, from.optimizer.arrays};
    const auto restored =
        state.learner->restore(from.parameters, optimizer, from.best, from.global_step);
    if (!restored) {
      promise.deliver(
          to_caf(Error(restored.error()).with(fmt::format("rank {}", raw(state.options.rank)))));
      return;
    }
  }
  state.position = {.epoch = from.epoch,
                    .step = from.step,
                    .global_step = from.global_step,
                    .loss_sum = from.loss_sum,
                    .loss_weight = from.loss_weight,
                    .batches = from.batches,
                    .parameters = {},
                    .optimizer = {},
                    .best = {},
                    .blobs = {}};
  promise.deliver(Ref<net::Done>(net::Done{}));
}

}  // namespace

void take_state(Self* self, const net::TakeState& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (request.generation != state.generation) {
    promise.deliver(to_caf(fenced_error(state, request.generation)));
    return;
  }
  state.states_asked.push_back({request, std::move(promise)});
  answer_states(self);
}

/// Between two steps, and while a batch is computed, nothing changes the parameters.
void answer_states(Self* self) {
  auto& state = self->state;
  if (state.applying) {
    return;
  }
  std::shared_ptr<const net::TrainingState> taken;
  std::erase_if(state.states_asked, [&](WaitingState& waiting) {
    if (!is_due(waiting.request, state.position.global_step)) {
      return false;
    }
    if (!taken) {
      taken = std::make_shared<const net::TrainingState>(snapshot(state));
    }
    waiting.promise.deliver(Ref<net::StateReply>(net::StateReply{taken}));
    return true;
  });
}

void restore(Self* self, const Ref<net::Restore>& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (request->generation < state.generation) {
    promise.deliver(to_caf(fenced_error(state, request->generation)));
    return;
  }
  state.generation = request->generation;
  ++state.pass_number;
  fail(self, Error(Errc::cancelled, "the run was rolled back"));
  state.last_epoch.reset();
  state.last_scores.reset();
  for (auto& waiting : state.states_asked) {
    waiting.promise.deliver(to_caf(Error(Errc::cancelled, "the run was rolled back")));
  }
  state.states_asked.clear();
  state.exchange->begin_generation(
      state.generation,
      Error(Errc::fenced, fmt::format("rank {}: generation {} begins", raw(state.options.rank),
                                      state.generation)));
  if (state.restore_asked) {
    state.restore_asked->promise.deliver(to_caf(fenced_error(state, request->generation)));
  }
  state.restore_asked = WaitingRestore{request, std::move(promise)};
  if (!state.computing) {
    restore_if_asked(self);
  }
}

void wait_for_restore(Self* self, const Error& why) {
  self->delayed_send(self, self->state.options.fenced_for,
                     Ref<StillFenced>(StillFenced{self->state.generation, why}));
}

bool restore_if_asked(Self* self) {
  auto& state = self->state;
  if (!state.restore_asked) {
    return false;
  }
  auto waiting = std::move(*state.restore_asked);
  state.restore_asked.reset();
  restore_now(self, *waiting.request, waiting.promise);
  return true;
}

}  // namespace troupe::trainer
