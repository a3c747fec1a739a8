#pragma once
/// \file prepare_run.hpp
/// From a job file to all that a run of it needs.
#include "launcher/commands.hpp"
#include "launcher/exit_code.hpp"
#include "launcher/prepare_store.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/job_file.hpp"

#include <optional>

namespace troupe {

struct PreparedRun {
  Job job;  ///< checked against the graph
  PartitionedStore store;
};

/// Reads and checks the job, imports and partitions what is missing, makes the output folder.
/// \param run  filled in if all went well; else the problems were printed to standard error
/// \returns the exit code of what went wrong
ExitCode prepare_run(const JobArguments& arguments, const Say& say, std::optional<PreparedRun>& run,
                     JobTrainer trainer = JobTrainer::built_in);

/// The same for a run with launch other than "simulate" too: on the hosts that the job, or Slurm's allocation, names.
ExitCode prepare_run_on_hosts(const JobArguments& arguments, const Say& say,
                              std::optional<PreparedRun>& run,
                              JobTrainer trainer = JobTrainer::built_in);

}  // namespace troupe
