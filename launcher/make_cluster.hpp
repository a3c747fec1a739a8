#pragma once
/// \file make_cluster.hpp
/// The cluster that a job asks for: simulated in this process, or real processes.
#include "launcher/cluster.hpp"
#include "launcher/cluster_hooks.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"

#include <filesystem>
#include <memory>

namespace troupe {

/// \param folder  of the job file, absolute: its relative paths are meant from there
/// \errors those of loading parts, of starting processes and of joining
Result<std::unique_ptr<Cluster>> make_cluster(const Job& job, const PartitionedStore& store,
                                              ClusterHooks hooks,
                                              const std::filesystem::path& folder);

/// Whether SIGINT, SIGTERM or SIGHUP is waiting; it stays so.
/// \requires they are blocked in all threads, SIGHUP unless it is ignored
bool stop_asked();

}  // namespace troupe
