// `troupe run JOB -- PROGRAM ARGUMENTS`: this process becomes the user's program, which calls run_ranks.
#include "launcher/commands.hpp"
#include "launcher/end_or_signal.hpp"
#include "launcher/print_error.hpp"
#include "launcher/read_job.hpp"
#include "launcher/run_environment.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace troupe {

ExitCode run_program(const RunArguments& arguments, const std::vector<std::string>& program) {
  if (program.empty() || arguments.log != LogFormat::text) {
    std::fprintf(stderr, "troupe: run: %s\n",
                 program.empty() ? "expected a program after --, found nothing"
                                 : "--log json: a program after -- prints its own progress");
    return ExitCode::usage;
  }
  if (!read_job_or_print(arguments.job)) {
    return ExitCode::usage;
  }
  if (const auto set = set_run_environment(arguments); !set) {
    return print_error(set.error(), ExitCode::usage);
  }
  std::vector<char*> argv;
  for (const auto& argument : program) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  unblock_stop_signals();  // blocked signals would stay so in the program
  execvp(argv[0], argv.data());
  std::fprintf(
      stderr, "troupe: cannot start %s: %s; try: ./%s if it is in this folder, or its whole path\n",
      argv[0], std::strerror(errno), argv[0]);
  return ExitCode::usage;
}

}  // namespace troupe
