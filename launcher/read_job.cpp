#include "launcher/read_job.hpp"

#include "launcher/decide_device.hpp"
#include "launcher/print_error.hpp"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>

namespace troupe {
namespace {

void print_problems(const std::vector<JobProblem>& problems, const JobArguments* arguments) {
  if (arguments != nullptr) {
    std::fprintf(stderr, "troupe: %zu problem%s in %s\n", problems.size(),
                 problems.size() == 1 ? "" : "s",
                 arguments->text.empty() ? arguments->file.string().c_str() : "the job");
  }
  std::fprintf(stderr, "%s", to_string(problems).c_str());
}

}  // namespace

std::optional<Job> read_job_or_print(const JobArguments& arguments) {
  std::error_code gone;
  static_cast<void>(std::filesystem::current_path(gone));
  if (gone) {
    print_error(Error(Errc::failed_precondition,
                      fmt::format("expected a working folder, which relative paths are meant from, "
                                  "found none: {}; try: cd to a folder that is there",
                                  gone.message())));
    return std::nullopt;
  }
  auto reading = arguments.text.empty() ? read_job(arguments.file, arguments.overrides)
                                        : read_job_text(arguments.text, arguments.overrides);
  if (!reading) {
    print_error(reading.error());
    return std::nullopt;
  }
  if (!reading->problems.empty()) {
    print_problems(reading->problems, &arguments);
    return std::nullopt;
  }
  decide_device(reading->job);
  return std::move(reading->job);
}

bool fit_to_graph_or_print(Job& job, const GraphInfo& graph, JobTrainer trainer) {
  const auto problems = check_against_graph(job, graph, trainer);
  if (!problems.empty()) {
    std::fprintf(stderr, "troupe: the job does not fit its data\n");
    print_problems(problems, nullptr);
    return false;
  }
  fit_to_graph(job, graph);
  return true;
}

}  // namespace troupe
