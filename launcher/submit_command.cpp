// `troupe submit`: the run as a batch job of Slurm.
#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/child_processes.hpp"
#include "launcher/processes/tool_output.hpp"
#include "launcher/read_job.hpp"
#include "launcher/submit_script.hpp"
#include "runtime/base/files.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <span>

namespace troupe {
namespace {

namespace fs = std::filesystem;

Result<SubmitScript> script_of(const SubmitArguments& arguments) {
  std::error_code error;
  SubmitScript script;
  script.program = own_program();
  script.folder = fs::current_path(error);
  if (error) {
    return Error(Errc::failed_precondition,
                 fmt::format("cannot find the working folder: {}", error.message()));
  }
  script.job_file = arguments.run.job.file;
  script.overrides = arguments.run.job.overrides;
  script.resume = arguments.run.resume;
  script.overwrite = arguments.run.overwrite;
  script.own_program = arguments.program;
  return script;
}

/// \returns the script's path
Result<fs::path> write_script(const Job& job, const std::string& text) {
  auto path = job.output / "submit.sbatch";
  TROUPE_RETURN_IF_ERROR(write_file_atomically(path, std::as_bytes(std::span(text))));
  std::error_code error;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, error);
  if (error) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: cannot make it private: {}", path.string(), error.message()));
  }
  return path;
}

/// Submits it. \returns the job's number
Result<std::string> submit(const fs::path& script) {
  TROUPE_ASSIGN_OR_RETURN(const auto printed,
                          tool_output({"sbatch", "--parsable", script.string()}));
  const auto number = printed.substr(0, printed.find_first_of(";\n"));  // "12" or "12;cluster"
  if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) {
    return Error(Errc::failed_precondition,
                 fmt::format("sbatch: expected a job's number, found \"{}\"", printed));
  }
  return number;
}

ExitCode write_and_submit(const SubmitScript& script, const Job& job) {
  const auto path = write_script(job, submit_script(script, job));
  if (!path) {
    return print_error(path.error(), ExitCode::data);
  }
  const auto number = submit(*path);
  if (!number) {
    std::error_code ignored;  // no run is to come: the folder is free, and no run to be resumed
    fs::remove(*path, ignored);
    return print_error(number.error(), ExitCode::failed);
  }
  std::printf("submitted as job %s, from %s\noutput in %s/slurm-%s.out\n", number->c_str(),
              path->string().c_str(), job.output.string().c_str(), number->c_str());
  return ExitCode::done;
}

}  // namespace

ExitCode submit_command(const SubmitArguments& arguments) {
  const EndAtSignal end_at_signal;
  auto job = read_job_or_print(arguments.run.job);
  if (!job) {
    return ExitCode::usage;
  }
  if (job->cluster.launch != "slurm") {
    return print_error(
        Error(Errc::invalid_argument,
              fmt::format("submit: expected a job with launch \"slurm\", found \"{}\"; try: --set "
                          "cluster.launch=slurm",
                          job->cluster.launch)),
        ExitCode::usage);
  }
  const auto script = script_of(arguments);
  if (!script) {
    return print_error(script.error());
  }
  const auto request = output_request(*job, arguments.run);
  if (arguments.dry_run) {
    const auto output = choose_output(request);
    if (!output) {
      return print_error(output.error(), ExitCode::data);
    }
    move_output(*job, *output);
    std::fputs(submit_script(*script, *job).c_str(), stdout);
    return ExitCode::done;
  }
  const auto claim = OutputClaim::take(request);
  if (!claim) {
    return print_error(claim.error(), ExitCode::data);
  }
  move_output(*job, claim->dir());
  return write_and_submit(*script, *job);
}

}  // namespace troupe
