#include "actors/supervisor.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::chrono::milliseconds longest_restart_pause{5000};

struct SupervisorState {
  const char* name = "troupe.supervisor";
  SupervisorOptions options;
  std::uint32_t generation = 0;
  std::vector<std::chrono::milliseconds> pauses;  ///< by member
  std::vector<bool> alive;
};
using Supervisor = caf::stateful_actor<SupervisorState>;

struct StartAgain {
  std::size_t member;
};

void say(const Supervisor* self, const std::string& what) {
  if (self->state.options.say) {
    self->state.options.say(what);
  }
}

Status start(Supervisor* self, std::size_t m) {
  auto& state = self->state;
  auto& member = state.options.members[m];
  TROUPE_ASSIGN_OR_RETURN(auto started, member.start(state.generation));
  member.actor = std::move(started);
  state.alive[m] = true;
  self->monitor(member.actor);
  return ok_status();
}

void start_later(Supervisor* self, std::size_t m) {
  auto& pause = self->state.pauses[m];
  self->delayed_send(self, pause, Ref<StartAgain>(StartAgain{m}));
  pause = std::min(pause * 2, longest_restart_pause);
}

void on_down(Supervisor* self, const caf::down_msg& down) {
  auto& state = self->state;
  for (std::size_t m = 0; m < state.options.members.size(); ++m) {
    const auto& member = state.options.members[m];
    if (!state.alive[m] || member.actor.address() != down.source) {
      continue;
    }
    state.alive[m] = false;
    say(self, fmt::format("{}: lost the {}: {}", state.options.process, member.name,
                          from_caf(down.reason).what()));
    if (member.at_once) {
      start_later(self, m);
    }
  }
}

void start_again(Supervisor* self, std::size_t m) {
  auto& state = self->state;
  if (state.alive[m]) {
    return;
  }
  const auto& name = state.options.members[m].name;
  if (const auto started = start(self, m); started) {
    say(self, fmt::format("{}: started the {} again", state.options.process, name));
  } else {
    say(self, fmt::format("{}: cannot start the {} again: {}", state.options.process, name,
                          started.error().what()));
    start_later(self, m);
  }
}

Status regroup(Supervisor* self, const net::Regroup& request) {
  auto& state = self->state;
  if (request.generation < state.generation) {
    return Error(Errc::fenced,
                 fmt::format("supervisor of {}: generation {} is over, now {}",
                             state.options.process, request.generation, state.generation));
  }
  state.generation = request.generation;
  if (state.options.regroup) {
    state.options.regroup(request.generation);
  }
  for (std::size_t m = 0; m < state.options.members.size(); ++m) {
    const auto& member = state.options.members[m];
    const bool lost = member.rank && std::ranges::count(request.lost_ranks, *member.rank) > 0;
    if (member.at_once || (state.alive[m] && !lost)) {
      continue;
    }
    if (state.alive[m]) {  // the director cannot hear it: it must not come back
      self->demonitor(member.actor);
      caf::anon_send_exit(member.actor, caf::exit_reason::kill);
      state.alive[m] = false;
    }
    const auto started = start(self, m);
    if (!started) {
      return Error(started.error())
          .with(fmt::format("{}: starting the {} again", state.options.process, member.name));
    }
  }
  return ok_status();
}

caf::behavior supervisor(Supervisor* self, SupervisorOptions options) {
  auto& state = self->state;
  state.options = std::move(options);
  state.pauses.assign(state.options.members.size(), state.options.restart_pause);
  state.alive.assign(state.options.members.size(), true);
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  for (const auto& member : state.options.members) {
    self->monitor(member.actor);
  }
  return {
      [self](const Ref<net::Regroup>& request) {
        auto promise = self->make_response_promise();
        const auto done = regroup(self, *request);
        deliver(promise, done ? Result<net::Done>(net::Done{}) : Result<net::Done>(done.error()));
      },
      [self](const Ref<net::Introduce>& request) {
        auto promise = self->make_response_promise();
        if (request->generation != self->state.generation) {
          promise.deliver(
              to_caf(Error(Errc::fenced, "a generation is introduced that is not now")));
          return;
        }
        self->state.options.introduce(request->generation);
        promise.deliver(Ref<net::Done>(net::Done{}));
      },
      [self](const Ref<StartAgain>& again) { start_again(self, again->member); },
  };
}

}  // namespace

caf::actor spawn_supervisor(caf::actor_system& system, SupervisorOptions options) {
  return system.spawn(supervisor, std::move(options));
}

}  // namespace troupe
