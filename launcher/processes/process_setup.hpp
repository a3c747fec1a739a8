#pragma once
/// \file process_setup.hpp
/// What the director's process is told of a run with real processes.
#include "launcher/cluster_hooks.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace troupe {

/// What a run with real processes needs besides the job.
struct ProcessClusterSetup {
  ClusterHooks hooks;
  /// Processes run this program of the user's, which calls run_ranks; empty: this one.
  std::vector<std::string> program = {};
  bool resume = false;           ///< with `program`: its ranks go on from the newest checkpoint
  std::filesystem::path folder;  ///< that the job's relative paths are meant from; absolute
  std::function<void(const std::string&)> say;  ///< a line about who joins and who is lost
};

}  // namespace troupe
