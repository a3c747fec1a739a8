// `troupe run JOB -- PROGRAM ARGUMENTS`: with `simulate` this process becomes the user's program, which calls run_ranks;
// else it directs, and the processes of the run are the user's program.
#include "launcher/bound_the_end.hpp"
#include "launcher/commands.hpp"
#include "launcher/early_checks.hpp"
#include "launcher/end_or_signal.hpp"
#include "launcher/make_cluster.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/host_copy.hpp"
#include "launcher/processes/process_cluster.hpp"
#include "launcher/read_job.hpp"
#include "launcher/run_environment.hpp"
#include "launcher/say_line.hpp"
#include "launcher/session_watch.hpp"
#include "launcher/standard_streams.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <memory>

namespace troupe {

namespace {

using ProgramEnd = EndOrSignal<SessionOutcome>;

/// \param longest_stop  after a signal
/// \param output        as EndOrSignal::wait() has it
std::optional<SessionOutcome> run_to_end(ProcessSessions& sessions, SessionWatch& watch,
                                         std::chrono::seconds longest_stop, int output) {
  const auto end = std::make_shared<ProgramEnd>();
  sessions.start([end](SessionOutcome outcome) { end->end(std::move(outcome)); });
  auto outcome = end->wait(output);
  if (!outcome) {
    print_if_taken(end->reader_gone() ? reader_gone_text : stopping_text);
    watch.release_output();
    watch.cut_copying();
    sessions.stop();
    outcome = end->wait_stopped(longest_stop);
    bound_the_end(time_to_stop, ExitCode::interrupted, watch.interrupted());
    watch.cut_copying();
  }
  return outcome;
}

ProcessClusterSetup process_setup(const std::filesystem::path& folder,
                                  const std::vector<std::string>& program,
                                  const std::shared_ptr<SessionWatch>& watch) {
  ProcessClusterSetup setup;
  setup.folder = folder;
  setup.program = program;
  setup.resume = watch->resume();
  setup.keep_state = [watch](Checkpoint state) { return watch->keep(std::move(state)); };
  setup.go_back = [watch] { return watch->go_back(); };
  setup.on_epoch = [watch](const net::RankEpoch& epoch) { watch->epoch(epoch); };
  setup.hooks.on_step = [watch](const StepReport& step) { watch->step(step); };
  setup.say = [watch](const std::string& text) { watch->note(text); };
  return setup;
}

ExitCode run_processes(const RunArguments& arguments, const std::vector<std::string>& program) {
  const auto entered = std::chrono::steady_clock::now();
  const WithoutPipeSignal unsignaled;
  std::optional<PreparedRun> prepared;
  if (const auto code = prepare_run_on_hosts(arguments, say_line, prepared, JobTrainer::own);
      !prepared) {
    return code;
  }
  const auto& job = prepared->job;
  if (const auto copied =
          copy_if_asked(job, prepared->store, arguments.job.file, program.front(), say_line);
      !copied) {
    return print_error(copied.error());
  }
  if (const auto cleared = clear_earlier_run(*prepared, arguments, JobTrainer::own); !cleared) {
    return print_error(cleared.error());
  }
  // Checkpoints, log and report are here: the hosts of the ranks may see another folder.
  const auto begun = SessionWatch::begin(
      job, {arguments.resume, arguments.overwrite, arguments.command, entered}, say_line);
  if (!begun) {
    return print_error(begun.error(), ExitCode::data);
  }
  const auto& watch = *begun;
  auto sessions = make_process_sessions(
      job, prepared->store, process_setup(prepared->folder, program, watch), stop_asked);
  if (!sessions) {
    SessionOutcome failed;
    failed.status = sessions.error();
    return watch->finish(failed, {}, true);
  }
  watch->start();
  const auto outcome = run_to_end(**sessions, *watch, stop_deadline(job.cluster.step_deadline_s),
                                  unsignaled.output());
  const auto traffic = (*sessions)->finish();
  if (!outcome || !outcome->status) {
    sessions->reset();
    return watch->finish(outcome, traffic, true);
  }
  (*sessions)->let_programs_end();
  say_line(fmt::format("links carried {} requests and {:.1f} MB", traffic.requests,
                       static_cast<double>(traffic.bytes) * 1e-6));
  const auto code = watch->finish(outcome, traffic, true);
  const auto of_programs = (*sessions)->wait_for_programs(stop_asked);
  sessions->reset();
  return code == ExitCode::done ? of_programs : code;
}

}  // namespace

ExitCode run_program(const RunArguments& arguments, const std::vector<std::string>& program) {
  if (program.empty() || arguments.log != LogFormat::text) {
    std::fprintf(stderr, "troupe: run: %s\n",
                 program.empty() ? "expected a program after --, found nothing"
                                 : "--log json: a program after -- prints its own progress");
    return ExitCode::usage;
  }
  const auto job = read_job_or_print(arguments.job);
  if (!job) {
    return ExitCode::usage;
  }
  if (const auto there = check_program(*job, program.front()); !there) {
    return print_error(there.error(), ExitCode::usage);
  }
  if (job->cluster.launch != "simulate") {
    return run_processes(arguments, program);
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
  std::fprintf(stderr, "troupe: cannot start %s: %s\n", argv[0], std::strerror(errno));
  return ExitCode::usage;
}

}  // namespace troupe
