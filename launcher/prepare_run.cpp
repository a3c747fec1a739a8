#include "launcher/prepare_run.hpp"

#include "launcher/cluster_plan.hpp"
#include "launcher/decide_device.hpp"
#include "launcher/early_checks.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/checkpoint_copies.hpp"
#include "launcher/processes/slurm_allocation.hpp"
#include "launcher/read_job.hpp"
#include "runtime/base/files.hpp"
#include "runtime/job/unused_keys.hpp"
#include "runtime/run/job_seeds.hpp"
#include "runtime/run/job_store.hpp"

namespace troupe {
namespace {

/// Partitions the data if need be.
/// \param job  fitted to them
ExitCode prepare_parts(const JobArguments& arguments, Job job, const Say& say,
                       std::optional<PreparedRun>& run) {
  auto store = prepare_store(job, say);
  if (!store) {
    return print_error(store.error(), ExitCode::data);
  }
  const auto here = std::filesystem::current_path();  // of a job without a file
  run.emplace(PreparedRun{
      std::move(job),
      *std::move(store),
      arguments.file.empty() ? here : std::filesystem::absolute(arguments.file).parent_path(),
      {}});
  return ExitCode::done;
}

/// Imports and partitions what is missing.
ExitCode prepare_data(const JobArguments& arguments, Job job, const Say& say, JobTrainer trainer,
                      std::optional<PreparedRun>& run) {
  std::optional<GraphInfo> graph;
  if (const auto code = prepare_graph(job, trainer, say, graph); !graph) {
    return code;
  }
  if (!fit_to_graph_or_print(job, *graph, trainer)) {
    return ExitCode::usage;
  }
  return prepare_parts(arguments, std::move(job), say, run);
}

/// The same for predictions of a trained model.
ExitCode prepare_data_to_predict(const JobArguments& arguments, Job job, const NamedModel& model,
                                 const Say& say, std::optional<PreparedRun>& run) {
  std::optional<GraphInfo> graph;
  if (const auto code = prepare_graph(job, JobTrainer::none, say, graph); !graph) {
    return code;
  }
  const auto task = predicted_task(job, *graph, model);
  if (!task) {
    return print_error(task.error());
  }
  auto whole = *graph;
  add_predicted(whole, job, *task);
  if (!fit_to_graph_or_print(job, whole, JobTrainer::none)) {
    return ExitCode::usage;
  }
  fit_to_prediction(job, *std::move(graph), *task);
  const auto code = prepare_parts(arguments, std::move(job), say, run);
  if (run) {
    run->task = *task;
    run->store = with_predicted_links(std::move(run->store), run->job, *task);
  }
  return code;
}

/// Makes the output folder of a run whose data are there.
ExitCode make_output(ExitCode code, std::optional<PreparedRun>& run) {
  if (!run) {
    return code;
  }
  if (const auto made = make_folders(run->job.output); !made) {
    run.reset();
    return print_error(Error(made.error()).with("output"), ExitCode::data);
  }
  return code;
}

}  // namespace

ExitCode prepare_graph(const Job& job, JobTrainer trainer, const Say& say,
                       std::optional<GraphInfo>& graph) {
  auto found = prepare_graph_info(job, say);
  if (!found) {
    return data_error(found.error());
  }
  const bool scores = trainer != JobTrainer::none || !found->splits.empty();
  if (const auto known = check_seed_keys(job, *found); scores && !known) {
    return print_error(known.error(), ExitCode::usage);
  }
  if (const auto counted = make_graph_of_job(job, *found); !counted) {
    return data_error(counted.error());
  }
  graph = *std::move(found);
  return ExitCode::done;
}

Status check_before_data(const Job& job, JobTrainer trainer) {
  if (trainer == JobTrainer::built_in) {
    TROUPE_RETURN_IF_ERROR(check_precision(job));
    TROUPE_RETURN_IF_ERROR(check_reduce(job));
  }
  return check_named_files(job, trainer);
}

Status check_cluster_plan(const Job& job, const PartitionedStore& store, JobTrainer trainer) {
  ClusterHooks hooks;
  hooks.own_program = hooks.take_only = trainer == JobTrainer::own;
  TROUPE_ASSIGN_OR_RETURN([[maybe_unused]] const auto plan, ClusterPlan::make(job, store, hooks));
  return ok_status();
}

OutputRequest output_request(const Job& job, const RunArguments& arguments) {
  return {.output = job.output,
          .given = job.output_given,
          .resume = arguments.resume,
          .overwrite = arguments.overwrite};
}

ExitCode prepare_run(const JobArguments& arguments, const Say& say, std::optional<PreparedRun>& run,
                     JobTrainer trainer) {
  auto job = read_job_or_print(arguments);
  if (!job) {
    return ExitCode::usage;
  }
  const EndAtSignal end_at_signal;
  const auto code = prepare_data(arguments, *std::move(job), say, trainer, run);
  return make_output(code, run);
}

ExitCode prepare_prediction(const JobArguments& arguments, const NamedModel& model,
                            PredictionPlace place, const Say& say,
                            std::optional<PreparedRun>& run) {
  const EndAtSignal end_at_signal;  // the job may be read with the help of scontrol
  const bool hosts = place == PredictionPlace::hosts;
  auto job = hosts ? read_job_for_run(arguments) : read_job_or_print(arguments);
  if (!job) {
    return ExitCode::usage;
  }
  if (const auto known = hosts ? check_host_names(job->cluster) : ok_status(); !known) {
    return print_error(known.error(), ExitCode::usage);
  }
  const auto code = prepare_data_to_predict(arguments, *std::move(job), model, say, run);
  return make_output(code, run);
}

ExitCode prepare_run_on_hosts(const RunArguments& arguments, const Say& say,
                              std::optional<PreparedRun>& run, JobTrainer trainer) {
  const EndAtSignal end_at_signal;  // the job may be read with the help of scontrol
  auto job = read_job_for_run(arguments.job);
  if (!job) {
    return ExitCode::usage;
  }
  auto known = check_host_names(job->cluster);
  if (const auto keepers = hosts_of_copies(*job); known && !keepers) {
    known = keepers.error();
  }
  known = known ? check_before_data(*job, trainer) : known;
  if (!known) {
    return print_error(known.error(), ExitCode::usage);
  }
  auto claim = OutputClaim::take(output_request(*job, arguments));
  if (!claim) {
    return print_error(claim.error(), ExitCode::data);
  }
  move_output(*job, claim->dir());
  for (const auto& key : unused_keys(*job)) {
    say(to_string(key));
  }
  const auto code = prepare_data(arguments.job, *std::move(job), say, trainer, run);
  if (!run) {
    std::move(*claim).remove_lock();
    return code;
  }
  run->claim = *std::move(claim);
  return code;
}

Status clear_earlier_run(const PreparedRun& run, const RunArguments& arguments,
                         JobTrainer trainer) {
  if (arguments.resume) {
    return ok_status();
  }
  const auto& dir = run.claim.dir();
  if (has_run(dir)) {
    TROUPE_RETURN_IF_ERROR(check_cluster_plan(run.job, run.store, trainer));
  }
  return clear_output(dir);
}

}  // namespace troupe
