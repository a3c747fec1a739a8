// States of training: given away between two steps, and put back at a roll-back.
#include "actors/trainer_state.hpp"

#include "actors/error.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe::trainer {
namespace {

Error fenced_error(const State& state, std::uint32_t asked) {
  return {Errc::fenced, fmt::format("rank {}: generation {} is over, now {}",
                                    raw(state.options.rank), asked, state.generation)};
}

bool is_due(const net::TakeState& request, std::uint64_t global_step) {
  return request.multiple_of == 0 ||
         (global_step > request.after_step && global_step % request.multiple_of == 0);
}

/// Gives the state of a step to all that wait for it.
/// \param oldest  step of the oldest state that is needed besides
void give_state(Self* self, std::uint64_t oldest, std::vector<caf::response_promise> to) {
  auto& state = self->state;
  const auto give = [to = std::move(to)](const caf::message& answer) {
    for (auto promise : to) {
      promise.deliver(answer);
    }
  };
  if (!state.learner.actor) {
    return give(caf::make_message(Ref<net::StateReply>(
        net::StateReply{std::make_shared<const net::TrainingState>(state.position)})));
  }
  keep_learned(
      self, {.oldest = oldest}, [self, give, position = state.position](const Status& kept) {
        if (!kept) {
          return give(caf::make_message(to_caf(kept.error())));
        }
        self->request(self->state.learner.actor, caf::infinite,
                      Ref<TakeSnapshot>(TakeSnapshot{position}))
            .then([give](const Ref<net::StateReply>& taken) { give(caf::make_message(taken)); },
                  [give](const caf::error& error) { give(caf::make_message(error)); });
      });
}

/// The learner has the parameters, once it is done with what it was sent before.
void restore_learner(Self* self, const net::Restore& request, caf::response_promise promise) {
  auto& state = self->state;
  if (!state.learner.actor) {
    return promise.deliver(Ref<net::Done>(net::Done{}));
  }
  self->request(state.learner.actor, caf::infinite,
                Ref<RestoreSnapshot>(RestoreSnapshot{request.state}))
      .then(
          [self, promise, generation = request.generation](const Ref<net::Done>& done) mutable {
            if (self->state.generation == generation) {
              promise.deliver(done);
            } else {
              promise.deliver(to_caf(fenced_error(self->state, generation)));
            }
          },
          [self, promise](const caf::error& error) mutable {
            promise.deliver(to_caf(
                from_caf(error).with(fmt::format("rank {}", raw(self->state.options.rank)))));
          });
}

}  // namespace

bool state_is_due(const State& state, std::uint64_t global_step) {
  return std::ranges::any_of(state.states_asked, [global_step](const WaitingState& waiting) {
    return is_due(waiting.request, global_step);
  });
}

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

/// Between two steps, and while a batch is computed, nothing changes the parameters. Learned rows may change
/// once the rank's gradients have left.
void answer_states(Self* self) {
  auto& state = self->state;
  if (state.applying || state.shared) {
    return;
  }
  std::vector<caf::response_promise> due;
  std::uint64_t oldest = 0;
  std::erase_if(state.states_asked, [&](WaitingState& waiting) {
    const bool now = is_due(waiting.request, state.position.global_step);
    if (now) {
      due.push_back(std::move(waiting.promise));
      oldest = std::max(oldest, waiting.request.oldest);
    }
    return now;
  });
  if (!due.empty()) {
    give_state(self, oldest, std::move(due));
  }
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
  state.route->begin_generation();
  state.applying = false;  // the learner goes back after it
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
  const auto& from = *request->state;
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
  restore_learned(self, from.global_step, [self, request, promise](const Status& restored) mutable {
    if (restored) {
      restore_learner(self, *request, std::move(promise));
    } else {
      promise.deliver(to_caf(restored.error()));
    }
  });
}

void wait_for_restore(Self* self, const Error& why) {
  self->delayed_send(self, self->state.options.fenced_for,
                     Ref<StillFenced>(StillFenced{self->state.generation, why}));
}

}  // namespace troupe::trainer
