// `troupe run JOB -- PROGRAM ARGUMENTS`: with `simulate` this process becomes the user's program, which calls run_ranks;
// else it directs, and the processes of the run are the user's program.
#include "launcher/commands.hpp"
#include "launcher/early_checks.hpp"
#include "launcher/end_or_signal.hpp"
#include "launcher/make_cluster.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/host_copy.hpp"
#include "launcher/processes/process_cluster.hpp"
#include "launcher/read_job.hpp"
#include "launcher/run_checkpoints.hpp"
#include "launcher/run_environment.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

namespace troupe {

namespace {

/// Outlives the wait by a moment.
struct ProgramWatch {
  EndOrSignal<SessionOutcome> end;
  std::mutex mutex;
  std::string last_checkpoint;  ///< Its folder
};

ExitCode print_outcome(const Job& job, const std::optional<SessionOutcome>& outcome,
                       const std::string& last_checkpoint) {
  if (!outcome || (!outcome->status && outcome->status.error().code() == Errc::cancelled)) {
    tell_interrupted(last_checkpoint);
    return ExitCode::interrupted;
  }
  if (!outcome->status) {
    return print_error(outcome->status.error());
  }
  if (job.digest != DigestMode::off) {
    std::printf("batches %s\n", to_string(outcome->batches).c_str());
  }
  return ExitCode::done;
}

/// Checkpoints are found and written by this process: the hosts of the ranks may see another folder.
Status add_checkpoints(const Job& job, bool resume, const Say& print,
                       const std::shared_ptr<ProgramWatch>& watch, ProcessClusterSetup& setup) {
  TROUPE_ASSIGN_OR_RETURN(auto digest, dataset_digest(job));
  const CheckpointedJob run{job, origin_of_run(std::move(digest))};
  if (resume) {
    TROUPE_ASSIGN_OR_RETURN(setup.resume, find_checkpoint(run, {}, print));
  }
  setup.keep_state = [text = job.json,
                      write = checkpoint_writer(run, {}, [watch](const std::string& folder) {
                        const std::lock_guard guard(watch->mutex);
                        watch->last_checkpoint = folder;
                      })](net::TrainingState state) {
    Checkpoint checkpoint;
    checkpoint.training = std::move(state);
    checkpoint.job = text;
    return write(checkpoint);
  };
  return ok_status();
}

std::optional<SessionOutcome> run_to_end(ProcessSessions& sessions,
                                         const std::shared_ptr<ProgramWatch>& watch) {
  sessions.start([watch](SessionOutcome outcome) { watch->end.end(std::move(outcome)); });
  auto outcome = watch->end.wait();
  if (!outcome) {
    std::fprintf(stderr,
                 "troupe: stopping after the current step; press Ctrl-C again to stop "
                 "immediately\n");
    sessions.stop();
    outcome = watch->end.wait_stopped(std::chrono::seconds(60));
  }
  return outcome;
}

ExitCode run_processes(const RunArguments& arguments, const std::vector<std::string>& program) {
  const Say print = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  std::optional<PreparedRun> prepared;
  if (const auto code = prepare_run_on_hosts(arguments, print, prepared, JobTrainer::own);
      !prepared) {
    return code;
  }
  const auto& job = prepared->job;
  if (const auto copied =
          copy_if_asked(job, prepared->store, arguments.job.file, program.front(), print);
      !copied) {
    return print_error(copied.error());
  }
  const auto watch = std::make_shared<ProgramWatch>();
  ProcessClusterSetup setup;
  setup.folder = std::filesystem::absolute(arguments.job.file).parent_path();
  setup.program = program;
  setup.say = [](const std::string& text) { std::fprintf(stderr, "troupe: %s\n", text.c_str()); };
  if (const auto added = add_checkpoints(job, arguments.resume, print, watch, setup); !added) {
    return print_error(added.error(), ExitCode::data);
  }
  auto sessions = make_process_sessions(job, prepared->store, std::move(setup), stop_asked);
  if (!sessions) {
    return print_error(sessions.error());
  }
  const auto outcome = run_to_end(**sessions, watch);
  const auto traffic = (*sessions)->finish();
  sessions->reset();
  if (outcome && outcome->status) {
    std::printf("links carried %llu requests and %.1f MB\n",
                static_cast<unsigned long long>(traffic.requests),
                static_cast<double>(traffic.bytes) * 1e-6);
  }
  const std::lock_guard guard(watch->mutex);
  return print_outcome(job, outcome, watch->last_checkpoint);
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
  std::fprintf(
      stderr, "troupe: cannot start %s: %s; try: ./%s if it is in this folder, or its whole path\n",
      argv[0], std::strerror(errno), argv[0]);
  return ExitCode::usage;
}

}  // namespace troupe
