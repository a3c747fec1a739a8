// Starting and ending processes, as the roster says.
#include "actors/registrar_state.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe::registrar {
namespace {

/// A process without a link shows no sign of life that others would miss.
void expect_join(Registrar* self, const net::ProcessInstance& instance,
                 std::chrono::milliseconds within) {
  const auto losses = self->state.roster->awaited(instance);
  if (losses && within.count() > 0) {
    within *= 1U << std::min(*losses, 6U);
    self->delayed_send(self, within, Ref<StartDeadline>(StartDeadline{instance, within}));
  }
}

void start_agent(Registrar* self, const Roster::StartAgent& start) {
  const auto& options = self->state.options;
  if (options.start_agent) {
    options.expect(start.instance);
    options.start_agent(start.host, start.instance);
    expect_join(self, start.instance, options.agent_start_deadline);
  }
}

/// Without its agent a process is lost, and everything on its host with it.
void spawn(Registrar* self, const Roster::Spawn& spawn) {
  const auto& options = self->state.options;
  const auto& instance = spawn.instance;
  if (const auto agent = options.agent(spawn.agent)) {
    options.expect(instance);
    const auto& name = options.roster.layout.at(instance.process).name;
    self->request(agent, caf::infinite, Ref<net::SpawnProcess>(net::SpawnProcess{instance, name}))
        .then(
            [self, instance](const Ref<net::Done>&) {
              expect_join(self, instance, self->state.options.start_deadline);
            },
            [self, instance](const caf::error& error) {
              if (const auto why = from_caf(error); why.code() != Errc::peer_lost) {
                carry_out(self, self->state.roster->lost(instance, why.what(), true));
              }
            });
  }
}

}  // namespace

void start_after(Registrar* self, std::chrono::milliseconds pause, const Roster::Action& start) {
  if (pause.count() == 0) {
    self->send(self, Ref<StartNow>(StartNow{start}));
  } else {
    self->delayed_send(self, pause, Ref<StartNow>(StartNow{start}));
  }
}

void start_now(Registrar* self, const Roster::Action& action) {
  const auto is_wanted = [self](const net::ProcessInstance& instance) {
    return !self->state.ending && self->state.roster->admit(instance).ok();
  };
  if (const auto* agent = std::get_if<Roster::StartAgent>(&action)) {
    if (is_wanted(agent->instance)) {
      start_agent(self, *agent);
    }
  } else if (const auto* process = std::get_if<Roster::Spawn>(&action)) {
    if (is_wanted(process->instance)) {
      spawn(self, *process);
    }
  }
}

void start_deadline(Registrar* self, const StartDeadline& late) {
  auto& state = self->state;
  if (!state.ending && state.roster->awaited(late.instance)) {
    const auto why = fmt::format("started, and not heard of within {} ms", late.within.count());
    carry_out(self, state.roster->lost(late.instance, why, false));
  }
}

void kill(Registrar* self, const Roster::Kill& kill) {
  if (const auto agent = self->state.options.agent(kill.agent)) {
    caf::anon_send(agent, Ref<net::KillProcess>(net::KillProcess{kill.instance}));
  }
}

}  // namespace troupe::registrar
