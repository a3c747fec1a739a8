#pragma once
/// \file process_cluster.hpp
/// A cluster of real processes, seen from the one that directs it: starts the agents, takes everybody
/// in, runs the director, ends everybody.
#include "launcher/cluster.hpp"
#include "launcher/cluster_hooks.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace troupe {

/// What a run with real processes needs besides the job.
struct ProcessClusterSetup {
  ClusterHooks hooks;
  std::filesystem::path folder;  ///< that the job's relative paths are meant from; absolute
  std::function<void(const std::string&)> say;  ///< a line about who joins and who is lost
};

/// Makes it and waits until all processes are there.
/// \errors those of starting agents and of processes that cannot join; deadline_exceeded: who is
///   missing; cancelled: `stop` said so
/// \param stop  asked now and then while waiting
Result<std::unique_ptr<Cluster>> make_process_cluster(const Job& job, const PartitionedStore& store,
                                                      ProcessClusterSetup setup,
                                                      const std::function<bool()>& stop);

}  // namespace troupe
