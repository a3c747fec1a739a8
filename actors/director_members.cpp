// Who belongs to the run, how their loss is noticed, and how the run waits for those that come back.
#include "actors/director_state.hpp"

#include <algorithm>
#include <optional>

namespace troupe::director {
namespace {

std::optional<std::size_t> index_of(const std::vector<caf::actor>& group,
                                    const caf::actor_addr& who) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (group[i] && group[i].address() == who) {
      return i;
    }
  }
  return std::nullopt;
}

/// Asks for the handles as they are now.
void look_for(Self* self, const DirectorGroup& group, std::vector<caf::actor>& found) {
  found.resize(group.names.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto now = group.handle(i);
    if (found[i] == now) {
      continue;
    }
    if (found[i]) {
      self->demonitor(found[i]);
    }
    found[i] = now;
    if (now) {
      self->monitor(now);
    }
  }
}

/// The name of a process that is lost and not back; empty: all are there.
std::string missing_process(Self* self) {
  auto& state = self->state;
  look_for(self, state.options.supervisors, state.supervisors);
  const auto missing = std::ranges::find(state.supervisors, caf::actor());
  return missing == state.supervisors.end()
             ? ""
             : state.options.supervisors
                   .names[static_cast<std::size_t>(missing - state.supervisors.begin())];
}

void go_on_if_there(Self* self) {
  auto& state = self->state;
  if (!state.when_there || !missing_process(self).empty()) {
    return;
  }
  ++state.waits;
  if (!state.recovering) {
    look_for(self, state.options.evaluators, state.evaluators);
  }
  std::exchange(state.when_there, {})();
}

}  // namespace

std::vector<std::string> trainer_names(const State& state) {
  std::vector<std::string> names;
  for (std::uint32_t r = 0; r < state.options.world; ++r) {
    names.push_back(fmt::format("trainer {}", r));
  }
  return names;
}

void forget_members(Self* self) {
  auto& state = self->state;
  for (auto* group : {&state.trainers, &state.evaluators}) {
    for (const auto& actor : *group) {
      if (actor) {
        self->demonitor(actor);
      }
    }
    group->clear();
  }
}

/// A request that an actor leaves open when it dies is never answered: watch them. One that is lost
/// again by now shows in the first request.
void meet(Self* self) {
  auto& state = self->state;
  const auto& options = state.options;
  for (std::uint32_t r = 0; r < options.world; ++r) {
    state.trainers.push_back(options.trainer(static_cast<Rank>(r)));
    if (state.trainers.back()) {
      self->monitor(state.trainers.back());
    }
  }
  look_for(self, options.evaluators, state.evaluators);
  look_for(self, options.supervisors, state.supervisors);
}

void on_down(Self* self, const caf::down_msg& down) {
  auto& state = self->state;
  const auto& options = state.options;
  const auto lost = [&](const std::string& name) {
    return Error(Errc::peer_lost,
                 fmt::format("{}: the actor ended: {}", name, from_caf(down.reason).what()));
  };
  if (const auto process = index_of(state.supervisors, down.source)) {
    state.supervisors[*process] = {};
    if (options.return_deadline.count() == 0) {
      end(self, lost(options.supervisors.names[*process]));
    }
  } else if (const auto rank = index_of(state.trainers, down.source)) {
    state.lost.insert(static_cast<Rank>(*rank));
    recover(self, lost(fmt::format("trainer {}", *rank)));
  } else if (const auto evaluator = index_of(state.evaluators, down.source)) {
    state.evaluators[*evaluator] = {};
    const bool comes_back = options.return_deadline.count() > 0 &&
                            !options.evaluators.handle(*evaluator) && !state.evaluating;
    if (!comes_back) {
      recover(self, lost(options.evaluators.names[*evaluator]));
    }
  }
}

void processes_changed(Self* self) {
  auto& state = self->state;
  if (state.over) {
    return;
  }
  if (state.when_there) {
    return go_on_if_there(self);
  }
  look_for(self, state.options.supervisors, state.supervisors);
  if (!state.recovering) {
    look_for(self, state.options.evaluators, state.evaluators);
  }
}

void when_all_there(Self* self, std::function<void()> then) {
  auto& state = self->state;
  ++state.waits;  // an earlier wait that this one takes the place of does not end it
  state.when_there = std::move(then);
  go_on_if_there(self);
  if (state.when_there) {
    self->delayed_send(self, state.options.return_deadline,
                       Ref<WaitedEnough>(WaitedEnough{state.waits}));
  }
}

void waited_enough(Self* self, const WaitedEnough& wait) {
  auto& state = self->state;
  if (state.over || !state.when_there || wait.wait != state.waits) {
    return;
  }
  const auto missing = missing_process(self);
  if (missing.empty()) {
    return go_on_if_there(self);
  }
  end(self, Error(Errc::peer_lost,
                  fmt::format("{}: lost, and not back within {} ms; try: what the process printed "
                              "last, or a larger cluster.recovery_deadline",
                              missing, state.options.return_deadline.count())));
}

}  // namespace troupe::director
