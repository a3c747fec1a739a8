// One step's gradient over the ranks, and the optimizer step with it.
#include "actors/error.hpp"
#include "actors/trainer_state.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe::trainer {
namespace {

void applied(Self* self, const Applied& step) {
  self->state.applying = false;
  self->state.pass->applied(step.lr);
  step_done(self);
}

void apply(Self* self, Reduced sum, bool alone) {
  auto& state = self->state;
  state.pass->take_sum(sum);
  state.applying = true;
  ask_learner<Applied>(self, ApplyStep{std::move(sum), alone},
                       [self, began = SteadyClock::now()](const Applied& step) {
                         auto& now = self->state;
                         now.pass->trained(SteadyClock::now() - began);
                         now.options.trace.slice("update parameters", began);
                         applied(self, step);
                       });
}

void take_mean(Self* self, SteadyClock::time_point began, Result<Reduced> mean) {
  auto& state = self->state;
  if (!mean) {
    fail(self, mean.error());
    if (mean.error().code() == Errc::fenced) {
      wait_for_restore(self, mean.error());
    }
    return;
  }
  state.pass->reduced(SteadyClock::now() - began);
  state.options.trace.slice("reduce gradients", began);
  apply(self, *std::move(mean), false);
}

}  // namespace

void exchange(Self* self, const Trained& trained) {
  send_learned(self, trained.mine, [self, trained] { reduce(self, trained); });
}

void reduce(Self* self, const Trained& trained) {
  auto& state = self->state;
  const auto& mine = trained.mine;
  if (state.options.world == 1) {
    Reduced alone{{}, mine.weight, mine.number, {}};
    if (mine.batch) {
      alone.batches.push_back(*mine.batch);
    }
    if (trained.applied) {
      state.pass->take_sum(alone);
      return applied(self, *trained.applied);
    }
    return apply(self, std::move(alone), true);
  }
  if (!state.exchange->knows_peers()) {
    return fail(self, Error(Errc::failed_precondition, "asked to train before it knows its peers"));
  }
  state.exchange->begin({state.position.global_step, state.learner.num_parameters}, mine,
                        [self, began = SteadyClock::now()](Result<Reduced> mean) {
                          take_mean(self, began, std::move(mean));
                        });
}

void take_share(Self* self, const Ref<net::GradientChunk>& share) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (!state.exchange->knows_peers()) {
    promise.deliver(to_caf(Error(Errc::failed_precondition,
                                 fmt::format("rank {}: asked to reduce gradients before it knows "
                                             "its peers",
                                             raw(state.options.rank)))));
    return;
  }
  // The rank that sent it hears of an error, and fails its epoch.
  static_cast<void>(state.exchange->take_share(share, std::move(promise)));
}

}  // namespace troupe::trainer
