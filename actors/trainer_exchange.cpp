// One step's gradient over the ranks, and the optimizer step with it.
#include "actors/error.hpp"
#include "actors/trainer_state.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe::trainer {
namespace {

void applied(Self* self, const Applied& step) {
  self->state.applying = self->state.step_ahead != nullptr;
  self->state.pass->applied(step.lr);
  step_done(self);
}

void apply(Self* self, ApplyStep what) {
  auto& state = self->state;
  if (const auto taken = state.pass->take_sum(what.mean); !taken) {
    return fail(self, taken.error());
  }
  state.applying = true;
  state.meets = what.by_devices != nullptr;
  ask_learner<Applied>(
      self, std::move(what),
      [self, reduces = state.meets, began = SteadyClock::now()](const Applied& step) {
        auto& now = self->state;
        const auto time = SteadyClock::now() - began;
        reduces ? now.pass->reduced(time) : now.pass->trained(time);
        now.options.trace.slice(reduces ? "reduce gradients" : "update parameters", began);
        applied(self, step);
      });
}

void say_news(State& state) {
  if (const auto news = state.route->news(); news && state.options.say) {
    state.options.say(*news);
  }
}

/// \param has_share  this rank has a gradient in this step
void take_mean(Self* self, SteadyClock::time_point began, bool has_share, Result<Reduced> mean) {
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
  const auto next = state.route->take(state.position.global_step, *mean);
  say_news(state);
  if (!next) {
    return fail(self, next.error());
  }
  ApplyStep step{*std::move(mean)};
  if (*next == ReductionRoute::Next::launch) {
    step.by_devices = state.route->communicator();
    step.has_share = has_share;
  }
  apply(self, std::move(step));
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
    all_have_rows(self, state.position.global_step);
    if (trained.applied) {
      if (const auto taken = state.pass->take_sum(alone); !taken) {
        return fail(self, taken.error());
      }
      return applied(self, *trained.applied);
    }
    return apply(self, {.mean = std::move(alone), .alone = true});
  }
  if (!state.exchange->knows_peers()) {
    return fail(self, Error(Errc::failed_precondition, "asked to train before it knows its peers"));
  }
  auto share = mine;
  share.offer = state.route->offer();
  say_news(state);
  const auto size = state.route->by_devices() ? 0 : state.learner.num_parameters;
  state.exchange->begin(
      {state.position.global_step, size}, share,
      [self, has_share = mine.weight > 0, began = SteadyClock::now()](Result<Reduced> mean) {
        take_mean(self, began, has_share, std::move(mean));
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

void decide(Self* self, std::span<const GradientReducer::Share> shares, net::GradientSum& sum) {
  auto& state = self->state;
  if (raw(state.options.rank) == 0) {
    state.route->decide(shares, sum);
    say_news(state);
  }
  all_have_rows(self, sum.step);
}

}  // namespace troupe::trainer
