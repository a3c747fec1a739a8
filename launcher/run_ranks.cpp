#include "launcher/bound_the_end.hpp"
#include "launcher/commands.hpp"
#include "launcher/end_or_signal.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/process_arguments.hpp"
#include "launcher/run_environment.hpp"
#include "launcher/seconds.hpp"
#include "launcher/session_cluster.hpp"
#include "launcher/session_watch.hpp"
#include "launcher/standard_streams.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace troupe {
namespace {

constexpr std::chrono::seconds time_to_return{10};

void print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

int print_second_run(const char* program) {
  std::fprintf(stderr,
               "%s: expected one run in a program of `troupe run`, found a second one in this "
               "process\ntry: one call of run_ranks, in Python of troupe.run\n",
               program);
  return static_cast<int>(ExitCode::usage);
}

int print_usage(const char* program) {
  std::fprintf(
      stderr, "%s: expected a job in TROUPE_JOB, found none\ntry: troupe run JOB -- %s ARGUMENTS\n",
      program, program);
  return static_cast<int>(ExitCode::usage);
}

/// Shared with the threads of the ranks.
struct RanksEnd {
  EndOrSignal<bool> end;
  std::atomic<bool> over = false;  ///< All ranks returned; the process may have another run by now
  std::shared_ptr<SessionWatch> watch;
  std::weak_ptr<SessionCluster> cluster;

  ExitCode finish(const std::optional<SessionOutcome>& outcome) const {
    const auto running = cluster.lock();
    return watch->finish(outcome, running ? running->cluster().traffic() : Traffic{}, false);
  }
};

/// Ends a process whose program calls exit() while its ranks run: destructors of static objects would run beside
/// their threads, and the exit code 0 would stand for a run that is not over.
/// Lifecycle: one per call of run_ranks
/// Threads:   any
class ExitGuard {
 public:
  ExitGuard() {
    const std::lock_guard guard(mutex);
    if (runs_in != getpid()) {  // the ranks of the process that was forked are not here
      runs = 0;
      runs_in = getpid();
    }
    ++runs;
  }
  ~ExitGuard() {
    const std::lock_guard guard(mutex);
    --runs;
  }
  ExitGuard(const ExitGuard&) = delete;
  ExitGuard& operator=(const ExitGuard&) = delete;

  /// As the first ranks begin, since static objects that were made before are destroyed after end_process().
  static void arm() {
    static const int registered = on_exit(end_process, nullptr);
    static_cast<void>(registered);
  }
  /// \param ranks  whose report is written
  static void set(const std::shared_ptr<RanksEnd>& ranks) {
    const std::lock_guard guard(mutex);
    reported = ranks;
  }

 private:
  static void end_process(int code, void* /*unused*/) {
    std::shared_ptr<RanksEnd> ranks;
    {
      const std::lock_guard guard(mutex);
      if (runs == 0 || runs_in != getpid()) {  // in a forked child there are no ranks
        return;
      }
      ranks = reported.lock();
    }
    const Error why(Errc::internal,
                    fmt::format("expected the functions of all ranks to return, got exit({}) while "
                                "they ran; try: an error as the result of the function",
                                code));
    print_if_taken("troupe: " + std::string(why.what()));
    std::fflush(stdout);
    if (ranks && !ranks->over) {
      SessionOutcome failed;
      failed.status = why;
      ranks->finish(failed);
    }
    std::_Exit(code != 0 ? code : static_cast<int>(ExitCode::failed));
  }

  static inline std::mutex mutex;
  static inline pid_t runs_in = 0;
  static inline unsigned runs = 0;
  static inline std::weak_ptr<RanksEnd> reported;
};

/// Puts the signals of the calling thread back as they were before the run. One that still waits after an
/// interrupted run is dropped, as it asked for that end.
class SignalsBefore {
 public:
  SignalsBefore() { pthread_sigmask(SIG_SETMASK, nullptr, &mask_); }
  ~SignalsBefore() {
    const auto set = stop_signals();
    const timespec now{};
    while (interrupted_ && sigtimedwait(&set, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  SignalsBefore(const SignalsBefore&) = delete;
  SignalsBefore& operator=(const SignalsBefore&) = delete;

  int after(ExitCode code) {
    interrupted_ = code == ExitCode::interrupted;
    return static_cast<int>(code);
  }

 private:
  sigset_t mask_{};
  bool interrupted_ = false;
};

/// \param outcome  as SessionWatch::finish() has it
void bound_the_end_of_ranks(const std::shared_ptr<RanksEnd>& ranks, std::chrono::seconds time,
                            const std::optional<SessionOutcome>& outcome) {
  const auto end = [&of = *ranks, time, outcome] {  // `of` lives as long as `over`
    print_if_taken(fmt::format("troupe: some ranks did not return within {} s; the process ends",
                               time.count()));
    return of.finish(outcome);
  };
  bound_the_end(time, end, {ranks, &ranks->over});
}

/// Waits for the ranks; a first signal asks them to end, a second one ends the process.
/// \param longest_step  after a signal, before the ranks have to return
/// \param output  as EndOrSignal::wait() has it
void wait_for_end(const std::shared_ptr<RanksEnd>& ranks, std::chrono::seconds longest_step,
                  int output) {
  if (ranks->end.wait(output)) {
    return;
  }
  print_if_taken(ranks->end.reader_gone() ? reader_gone_text : stopping_text);
  ranks->watch->release_output();
  if (const auto cluster = ranks->cluster.lock()) {
    cluster->stop();
  }
  bound_the_end_of_ranks(ranks, longest_step + time_to_return, {});
  if (!ranks->end.wait()) {
    std::_Exit(static_cast<int>(ranks->finish({})));
  }
}

SessionCluster::Events events_of(const std::shared_ptr<RanksEnd>& ranks) {
  SessionCluster::Events events;
  events.failed = [ranks](const Error& why) {
    if (why.code() != Errc::cancelled) {
      print_error(why);
      SessionOutcome failed;
      failed.status = why;
      bound_the_end_of_ranks(ranks, time_to_return, failed);
    }
  };
  events.ended = [ranks] {
    ranks->over = true;
    ranks->end.end(true);
  };
  return events;
}

SessionSetup session_setup(const std::shared_ptr<SessionWatch>& watch) {
  SessionSetup setup;
  setup.resume = watch->resume();
  setup.write_checkpoint = [watch](const Checkpoint& checkpoint) {
    return watch->keep(checkpoint);
  };
  setup.say = [watch](const std::string& text) { watch->note(text); };
  setup.on_epoch = [watch](const net::RankEpoch& epoch) {
    watch->epoch(epoch);
    return ok_status();
  };
  setup.on_step = [watch](const StepReport& step) { watch->step(step); };
  return setup;
}

ExitCode run(const RunArguments& arguments, const std::function<Status(Session&)>& fn,
             const RanksOptions& options) {
  const auto entered = std::chrono::steady_clock::now();
  const WithoutPipeSignal unsignaled;
  std::optional<PreparedRun> prepared;
  if (const auto code = prepare_run_on_hosts(arguments, print, prepared, JobTrainer::own);
      !prepared) {
    return code;
  }
  if (const auto cleared = clear_earlier_run(*prepared, arguments, JobTrainer::own); !cleared) {
    return print_error(cleared.error());
  }
  const auto& job = prepared->job;
  const auto begun = SessionWatch::begin(
      job, {arguments.resume, arguments.overwrite, arguments.command, entered}, print);
  if (!begun) {
    return print_error(begun.error(), ExitCode::data);
  }
  const auto& watch = *begun;
  auto setup = session_setup(watch);
  setup.options = options;
  ClusterHooks hooks;
  hooks.say = setup.say;
  auto created = SessionCluster::create(job, prepared->store, std::move(setup), std::move(hooks));
  if (!created) {
    return print_error(created.error());
  }
  std::shared_ptr<SessionCluster> cluster = *std::move(created);
  print(fmt::format("{} ranks on {} simulated hosts, {} epochs of {} steps", job.cluster.world(),
                    job.cluster.hosts, job.train.epochs, cluster->cluster().steps_per_epoch()));
  watch->start();
  const auto ranks = std::make_shared<RanksEnd>();
  ranks->watch = watch;
  ranks->cluster = cluster;
  ExitGuard::set(ranks);
  cluster->start(fn, events_of(ranks));
  wait_for_end(ranks, seconds_as<std::chrono::seconds>(job.cluster.step_deadline_s),
               unsignaled.output());
  const auto outcome = cluster->wait();
  const auto traffic = cluster->cluster().traffic();
  cluster.reset();
  return watch->finish(outcome, traffic, false);  // a failure was printed when it happened
}

}  // namespace

int run_ranks(int argc, char** argv, const std::function<Status(Session&)>& fn,
              const RanksOptions& options) {
  static std::atomic<bool> was_member = false;
  SignalsBefore signals;
  block_stop_signals();
  const ExitGuard guard;
  const auto guarded = [fn](Session& session) {
    ExitGuard::arm();
    return fn(session);
  };
  if (const auto member = member_of_environment()) {
    unsetenv(member_variable);
    was_member = true;
    return signals.after(run_member(*member, guarded, options));
  }
  const auto arguments = run_environment();
  const char* const program = argc > 0 ? argv[0] : "program";
  if (!arguments) {
    return was_member ? print_second_run(program) : print_usage(program);
  }
  try {
    return signals.after(run(*arguments, guarded, options));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "troupe: internal error: %s\n", error.what());
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace troupe
