#pragma once
/// \file prepare_run.hpp
/// From a job file to all that a run of it needs.
#include "launcher/commands.hpp"
#include "launcher/exit_code.hpp"
#include "launcher/prepare_store.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/run/output_folder.hpp"

#include <filesystem>
#include <optional>

namespace troupe {

struct PreparedRun {
  Job job;  ///< checked against the graph
  PartitionedStore store;
  std::filesystem::path folder = {};  ///< That the job's relative paths are meant from; absolute
  OutputClaim claim = {};             ///< On the output folder, for runs
};

/// Reads and checks the job, imports and partitions what is missing, makes the output folder; for
/// commands that write no run.
/// \param run  filled in if all went well; else the problems were printed to standard error
/// \returns the exit code of what went wrong
ExitCode prepare_run(const JobArguments& arguments, const Say& say, std::optional<PreparedRun>& run,
                     JobTrainer trainer = JobTrainer::built_in);

/// The same for a command that may use the hosts that the job, or Slurm's allocation, names.
ExitCode prepare_with_hosts(const JobArguments& arguments, const Say& say,
                            std::optional<PreparedRun>& run);

/// The same for a run, simulated or on the hosts that the job, or Slurm's allocation, names: chooses
/// and locks the output folder first, and clears it of an earlier run last.
ExitCode prepare_run_on_hosts(const RunArguments& arguments, const Say& say,
                              std::optional<PreparedRun>& run,
                              JobTrainer trainer = JobTrainer::built_in);

/// Of the output folder of a run.
OutputRequest output_request(const Job& job, const RunArguments& arguments);

}  // namespace troupe
