#pragma once
/// \file director.hpp
/// The director: one per job. Leads all ranks and hosts through epochs, evaluations and the end, as
/// its Conductor says.
#include "runtime/run/conductor.hpp"

#include <caf/actor.hpp>

#include <functional>
#include <vector>

namespace troupe {

struct DirectorOptions {
  std::vector<caf::actor> trainers;    ///< by rank: local actors or proxies
  std::vector<caf::actor> evaluators;  ///< by host
  ConductorOptions conductor;
  Conductor::Progress progress;
  /// Called once, on the director's thread: the run's record, or what ended it.
  std::function<void(Result<RunRecord>)> on_end;
};

/// Starts the director, and with it the run. It sends one command at a time to all trainers or all
/// evaluators and waits for every answer; an error ends the run.
/// | receives      | replies |
/// |---------------|---------|
/// | nothing but answers |   |
/// Peer loss: monitors all trainers and evaluators; the run ends with the lost actor's name
caf::actor spawn_director(caf::actor_system& system, DirectorOptions options);

}  // namespace troupe
