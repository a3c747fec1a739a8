// `troupe copy`.
#include "launcher/commands.hpp"
#include "launcher/early_checks.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/child_processes.hpp"
#include "launcher/processes/host_copy.hpp"
#include "launcher/read_job.hpp"
#include "launcher/say_line.hpp"

#include <cstdio>
#include <fmt/format.h>

namespace troupe {

ExitCode copy_command(const CopyArguments& arguments) {
  const EndAtSignal end_at_signal;
  const Say say = say_line;
  const auto job = read_job_or_print(arguments.job);
  if (!job) {
    return ExitCode::usage;
  }
  if (job->cluster.launch != "ssh") {
    return print_error(
        Error(Errc::invalid_argument, fmt::format("copy: expected a job with launch \"ssh\", found "
                                                  "\"{}\"",
                                                  job->cluster.launch)));
  }
  if (const auto known = check_host_names(job->cluster); !known) {
    return print_error(known.error(), ExitCode::usage);
  }
  std::optional<PreparedRun> run;
  if (const auto code = prepare_run(arguments.job, say, run); !run) {
    return code;
  }
  const CopySources sources{own_program(), arguments.job.file,
                            arguments.program.empty() ? "" : arguments.program.front()};
  const auto copied = copy_to_hosts(run->job, run->store, sources, say, [] { return false; });
  return copied ? ExitCode::done : print_error(copied.error());
}

}  // namespace troupe
