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
  /// Stores the reason of the end. Called before the answer, after which the director may close the
  /// link at once.
  std::function<void(const net::EndProcess&)> decide_end;
  std::function<void()> begin_end;  ///< Starts the end. Called after the answer
};

/// | receives               | replies              | errors                        |
/// |------------------------|----------------------|-------------------------------|
/// | Ref<net::SpawnProcess> | Ref<net::Done>       | those of starting the process |
/// | Ref<net::KillProcess>  | Ref<net::Done>       |                               |
/// | Ref<net::EndProcess>   | Ref<net::LinkTotals> |                               |
/// An incarnation that was asked for before is not started again
caf::actor spawn_agent(caf::actor_system& system, AgentOptions options);

}  // namespace troupe
