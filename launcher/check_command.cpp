#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/print_error.hpp"
#include "launcher/read_job.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/job/link_encryption.hpp"
#include "runtime/job/plan.hpp"

#include <cstdio>
#include <fmt/format.h>

namespace troupe {

ExitCode check_command(const JobArguments& arguments) {
  const EndAtSignal end_at_signal;
  auto job = read_job_or_print(arguments);
  if (!job) {
    return ExitCode::usage;
  }
  const Say say = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  const auto graph = prepare_graph_info(*job, say);
  if (!graph) {
    return data_error(graph.error());
  }
  if (!fit_to_graph_or_print(*job, *graph)) {
    return ExitCode::usage;
  }
  fmt::print("{}\n\n{}", job->json, to_string(make_plan(*job, *graph), *job));
  if (const auto warning = plain_links_warning(job->cluster); !warning.empty()) {
    fmt::print("\n{}\n", warning);
  }
  return ExitCode::done;
}

}  // namespace troupe
