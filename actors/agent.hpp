#pragma once
/// \file agent.hpp
/// The agent: one per host. Starts and ends the host's processes as the registrar says.
#include "runtime/base/result.hpp"
#include "runtime/wire/membership.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <functional>

namespace troupe {

/// Called on the agent's thread.
struct AgentOptions {
  std::function<Status(const net::SpawnProcess&)> spawn;
  std::function<void(const net::ProcessInstance&)> kill;  ///< nothing if it has ended
  /// Why the process ends, before the answer: who has it may close the link at once.
  std::function<void(const net::EndProcess&)> decide_end;
  std::function<void()> begin_end;  ///< the answer is on its way
};

/// | receives               | replies              | errors                        |
/// |------------------------|----------------------|-------------------------------|
/// | Ref<net::SpawnProcess> | Ref<net::Done>       | those of starting the process |
/// | Ref<net::KillProcess>  | Ref<net::Done>       |                               |
/// | Ref<net::EndProcess>   | Ref<net::LinkTotals> |                               |
/// An incarnation that was asked for before is not started again
caf::actor spawn_agent(caf::actor_system& system, AgentOptions options);

}  // namespace troupe
