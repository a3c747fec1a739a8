#pragma once
/// \file process_setup.hpp
/// What the director's process is told of a run with real processes.
#include "launcher/cluster_hooks.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// What a run with real processes needs besides the job.
struct ProcessClusterSetup {
  ClusterHooks hooks;
  /// Processes run this program of the user's, which calls run_ranks; empty: this one.
  std::vector<std::string> program = {};
  /// With `program`: its ranks continue from here; null: they begin at the beginning.
  std::shared_ptr<const Checkpoint> resume = nullptr;
  /// With `program`: keeps a state of all its ranks, with learned rows and tensors; record and job are not in it. May
  /// block.
  std::function<Status(Checkpoint)> keep_state = {};
  /// With `program`: its ranks have lost one another and begin again from what this gives; null: at the
  /// beginning. What was recorded of later steps is to be dropped. Called on the registrar's thread.
  std::function<Result<std::shared_ptr<const Checkpoint>>()> go_back = {};
  std::filesystem::path folder;  ///< that the job's relative paths are meant from; absolute
  /// With `program`: a rank has made the last step of an epoch.
  std::function<void(const net::RankEpoch&)> on_epoch = {};
  std::function<void(const std::string&)> say;  ///< a line about who joins and who is lost
};

}  // namespace troupe
