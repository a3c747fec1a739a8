// Members of the run: how their loss is noticed, by monitors and by signs of life.
#include "actors/director_state.hpp"

#include <fmt/format.h>

namespace troupe::director {
namespace {

/// A member without progress ends the run, in any phase. A lost process has a deadline of its own.
void expect_progress(Self* self) {
  auto& state = self->state;
  state.progress->look(self->clock().now());
  if (state.recovery->awaits_processes()) {
    return;
  }
  if (const auto why = state.progress->overdue(self->clock().now())) {
    end(self, *why);
  }
}

void ping(Self* self, std::size_t rank) {
  auto& state = self->state;
  const auto is_current = [self, generation = state.recovery->generation()] {
    const auto& recovery = *self->state.recovery;
    return !self->state.over && !recovery.recovering() && recovery.generation() == generation;
  };
  self->request(state.trainers.actors()[rank], state.options.lost_after,
                Ref<net::Ping>(net::Ping{}))
      .then(
          [self, rank, is_current](const Ref<net::Pong>& pong) {
            if (is_current() && !self->state.recovery->evaluating()) {
              self->state.progress->heard(rank, *pong, self->clock().now());
            }
          },
          [self, rank, is_current](const caf::error& error) {
            if (is_current()) {
              const bool silent = error == caf::sec::request_timeout;
              const auto how =
                  silent ? fmt::format("for {} ms", self->state.options.lost_after.count())
                         : from_caf(error).what();
              const Error why(Errc::peer_lost,
                              fmt::format("trainer {}: no sign of life {}", rank, how));
              carry_out(self, self->state.recovery->rank_lost(static_cast<Rank>(rank), why));
            }
          });
}

/// Its progress counts; its process's links tell whether it lives.
void ask_evaluator(Self* self, std::size_t index) {
  auto& state = self->state;
  self->request(state.evaluators.actors()[index], state.options.lost_after,
                Ref<net::Ping>(net::Ping{}))
      .then(
          [self, index, generation = state.recovery->generation()](const Ref<net::Pong>& pong) {
            auto& now = self->state;
            if (!now.over && now.recovery->evaluating() &&
                now.recovery->generation() == generation) {
              now.progress->heard(index, *pong, self->clock().now());
            }
          },
          [](const caf::error&) {});
}

}  // namespace

std::string missing_process(Self* self) {
  auto& supervisors = self->state.supervisors;
  supervisors.meet(self);
  const auto missing = supervisors.missing();
  return missing ? supervisors.names()[*missing] : "";
}

void on_down(Self* self, const caf::down_msg& down) {
  auto& state = self->state;
  const auto lost = [&](const WatchedGroup& group, std::size_t i) {
    return Error(Errc::peer_lost, fmt::format("{}: the actor ended: {}", group.names()[i],
                                              from_caf(down.reason).what()));
  };
  if (const auto process = state.supervisors.find(down.source)) {
    state.supervisors.lose(*process);
    carry_out(self, state.recovery->process_lost(lost(state.supervisors, *process)));
  } else if (const auto rank = state.trainers.find(down.source)) {
    carry_out(self,
              state.recovery->rank_lost(static_cast<Rank>(*rank), lost(state.trainers, *rank)));
  } else if (const auto evaluator = state.evaluators.find(down.source)) {
    state.evaluators.lose(*evaluator);
    carry_out(self, state.recovery->evaluator_lost(lost(state.evaluators, *evaluator),
                                                   state.evaluators.is_gone(*evaluator)));
  }
}

void beat(Self* self) {
  auto& state = self->state;
  expect_progress(self);
  if (state.over) {
    return;
  }
  if (!state.recovery->recovering() && !state.supervisors.names().empty()) {
    for (std::size_t rank = 0; rank < state.trainers.actors().size(); ++rank) {
      ping(self, rank);
    }
  }
  const auto& evaluators = state.evaluators.actors();
  for (std::size_t i = 0; state.recovery->evaluating() && i < evaluators.size(); ++i) {
    if (evaluators[i]) {
      ask_evaluator(self, i);
    }
  }
  self->delayed_send(self, state.options.heartbeat, Ref<Heartbeat>(Heartbeat{}));
}

}  // namespace troupe::director
