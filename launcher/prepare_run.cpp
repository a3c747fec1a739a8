#include "launcher/prepare_run.hpp"

#include "launcher/end_at_signal.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/slurm_allocation.hpp"
#include "launcher/read_job.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

ExitCode prepare(std::optional<Job> job, const Say& say, std::optional<PreparedRun>& run,
                 JobTrainer trainer) {
  if (!job) {
    return ExitCode::usage;
  }
  const EndAtSignal end_at_signal;
  const auto graph = prepare_graph_info(*job, say);
  if (!graph) {
    return print_error(graph.error(), ExitCode::data);
  }
  if (!fit_to_graph_or_print(*job, *graph, trainer)) {
    return ExitCode::usage;
  }
  auto store = prepare_store(*job, say);
  if (!store) {
    return print_error(store.error(), ExitCode::data);
  }
  std::error_code error;
  std::filesystem::create_directories(job->output, error);
  if (error) {
    return print_error(
        Error(Errc::failed_precondition,
              fmt::format("output: cannot create {}: {}", job->output.string(), error.message())),
        ExitCode::data);
  }
  run.emplace(PreparedRun{*std::move(job), *std::move(store)});
  return ExitCode::done;
}

}  // namespace

ExitCode prepare_run(const JobArguments& arguments, const Say& say, std::optional<PreparedRun>& run,
                     JobTrainer trainer) {
  return prepare(read_job_or_print(arguments), say, run, trainer);
}

ExitCode prepare_run_on_hosts(const JobArguments& arguments, const Say& say,
                              std::optional<PreparedRun>& run, JobTrainer trainer) {
  return prepare(read_job_for_run(arguments), say, run, trainer);
}

}  // namespace troupe
