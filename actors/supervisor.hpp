#pragma once
/// \file supervisor.hpp
/// The supervisor: one per process of a run. Watches the process's actors and starts them anew.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Something that a supervisor keeps alive.
struct SupervisedActor {
  std::string name;  ///< for messages, e.g. "holder of part 2"
  caf::actor actor;  ///< started already
  /// Starts another in its place, in the given generation, and makes it known on the host.
  std::function<Result<caf::actor>(std::uint32_t generation)> start;
  bool at_once = false;      ///< started again as soon as it is lost; else when the run regroups
  std::optional<Rank> rank;  ///< of a trainer
};

struct SupervisorOptions {
  std::string process;  ///< its name, for messages
  std::vector<SupervisedActor> members;
  std::function<void(std::uint32_t generation)> regroup;  ///< a generation begins; before any start
  std::function<void(std::uint32_t generation)> introduce;  ///< tells the trainers their peers
  std::chrono::milliseconds restart_pause{
      50};  ///< doubles with each failure of a member, up to 5 s
  std::function<void(const std::string&)> say;  ///< a line about what was lost; may be empty
};

/// Starts the supervisor of a process.
/// | receives            | replies        | errors                                              |
/// |---------------------|----------------|-----------------------------------------------------|
/// | Ref<net::Regroup>   | Ref<net::Done> | fenced; those of starting a member                  |
/// | Ref<net::Introduce> | Ref<net::Done> | fenced                                              |
/// Peer loss: members `at_once` are started again after a pause, as often as needed: what they serve
///   waits no longer than the recovery deadline. The others wait for the director
caf::actor spawn_supervisor(caf::actor_system& system, SupervisorOptions options);

}  // namespace troupe
