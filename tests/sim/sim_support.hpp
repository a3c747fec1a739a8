#pragma once
/// \file sim_support.hpp
/// Runs jobs on simulated clusters inside a test, over the data that the repository ships.
#include "launcher/simulated_cluster.hpp"
#include "runtime/base/result.hpp"
#include "runtime/run/run_record.hpp"
#include "tests/support/scratch_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::testing {

/// Setting of a job for all columns, which devices need more memory for.
inline constexpr const char* whole_cora = "dataset.path=data/cora";

/// A small job on folded_cora(), quick to run: 2 layers of 16, fanout [5, 5], 32 seeds per batch, 2 epochs,
/// everything else default.
/// \param overrides as for `--set`
Result<Job> cora_job(const std::filesystem::path& output, std::vector<std::string> overrides);

/// Prepares the stores and runs the job to its end.
Result<RunRecord> run_job(Job job, ClusterHooks hooks = {});

/// The same, with all that the run gives.
Result<RunResult> run_whole(Job job, ClusterHooks hooks = {});

/// A run that keeps its checkpoints in a folder, and takes the newest of them where all go back.
/// \param resume  goes on from the newest, which has to be there
RunSetup setup_with_checkpoints(const SimulatedCluster& cluster,
                                const std::filesystem::path& folder, bool resume);

/// The same for cora_job. Stores are kept in `output` and reused between runs.
Result<RunRecord> run_cora(const std::filesystem::path& output, std::vector<std::string> overrides,
                           ClusterHooks hooks = {});

}  // namespace troupe::testing
