#include "launcher/prepare_run.hpp"

#include "launcher/read_job.hpp"

#include <cstdio>
#include <fmt/format.h>

namespace troupe {
namespace {

ExitCode data_error(const Error& error) {
  std::fprintf(stderr, "troupe: %s\n", error.what().c_str());
  return ExitCode::data;
}

}  // namespace

ExitCode prepare_run(const JobArguments& arguments, const Say& say,
                     std::optional<PreparedRun>& run) {
  auto job = read_job_or_print(arguments);
  if (!job) {
    return ExitCode::usage;
  }
  const auto graph = prepare_graph_info(*job, say);
  if (!graph) {
    return data_error(graph.error());
  }
  if (!fit_to_graph_or_print(*job, *graph)) {
    return ExitCode::usage;
  }
  auto store = prepare_store(*job, say);
  if (!store) {
    return data_error(store.error());
  }
  std::error_code error;
  std::filesystem::create_directories(job->output, error);
  if (error) {
    return data_error(
        Error(Errc::failed_precondition,
              fmt::format("output: cannot create {}: {}", job->output.string(), error.message())));
  }
  run.emplace(PreparedRun{*std::move(job), *std::move(store)});
  return ExitCode::done;
}

}  // namespace troupe
