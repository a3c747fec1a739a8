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
#include "runtime/run/predicted_task.hpp"

#include <filesystem>
#include <optional>

namespace troupe {

struct PreparedRun {
  Job job;  ///< checked against the graph
  PartitionedStore store;
  std::filesystem::path folder = {};  ///< That the job's relative paths are meant from; absolute
  OutputClaim claim = {};             ///< On the output folder, for runs
  PredictedTask task = {};            ///< Of predictions
};

/// Reads and checks the job, imports and partitions what is missing, makes the output folder; for
/// commands that write no run.
/// \param run  filled in if all went well; else the problems were printed to standard error
/// \returns the exit code of what went wrong
ExitCode prepare_run(const JobArguments& arguments, const Say& say, std::optional<PreparedRun>& run,
                     JobTrainer trainer = JobTrainer::built_in);

enum class PredictionPlace : std::uint8_t { here, hosts };
/// The same for predictions of a trained model, whose data need no split and no labels.
/// \param place  hosts: may use those that the job, or Slurm's allocation, names
ExitCode prepare_prediction(const JobArguments& arguments, const NamedModel& model,
                            PredictionPlace place, const Say& say, std::optional<PreparedRun>& run);

/// The same for a run, simulated or on the hosts that the job, or Slurm's allocation, names: chooses
/// and locks the output folder first. An earlier run in it stays until clear_earlier_run().
ExitCode prepare_run_on_hosts(const RunArguments& arguments, const Say& say,
                              std::optional<PreparedRun>& run,
                              JobTrainer trainer = JobTrainer::built_in);

/// Reads what is known of a job's data before they are partitioned, with the job's own seeds; imports them if need
/// be.
/// \param graph  filled in if all went well; else the error was printed to standard error
/// \returns the exit code of what went wrong: usage where a key names what the data do not have
ExitCode prepare_graph(const Job& job, JobTrainer trainer, const Say& say,
                       std::optional<GraphInfo>& graph);

/// Checks what needs no data: units and devices for the built-in trainer, files that keys name.
/// \errors those of check_precision(), check_reduce() and check_named_files()
Status check_before_data(const Job& job, JobTrainer trainer);

/// Checks what a run would be refused for only when its cluster is made.
/// \param job  fitted to its graph
/// \errors those of ClusterPlan::make()
Status check_cluster_plan(const Job& job, const PartitionedStore& store, JobTrainer trainer);

/// Clears the output folder of an earlier run, unless this one resumes it. The earlier run stays whole
/// where the store and the job make no plan of a cluster.
/// \errors those of check_cluster_plan() and clear_output()
Status clear_earlier_run(const PreparedRun& run, const RunArguments& arguments,
                         JobTrainer trainer = JobTrainer::built_in);

/// Of the output folder of a run.
OutputRequest output_request(const Job& job, const RunArguments& arguments);

}  // namespace troupe
