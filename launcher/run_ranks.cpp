#include "launcher/bound_the_end.hpp"
#include "launcher/commands.hpp"
#include "launcher/end_or_signal.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/process_arguments.hpp"
#include "launcher/run_checkpoints.hpp"
#include "launcher/run_environment.hpp"
#include "launcher/session_cluster.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::chrono::seconds time_to_return{10};

void print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

int print_usage(const char* program) {
  std::fprintf(
      stderr, "%s: expected a job in TROUPE_JOB, found none\ntry: troupe run JOB -- %s ARGUMENTS\n",
      program, program);
  return static_cast<int>(ExitCode::usage);
}

void bound_the_end_of_ranks(ExitCode code) {
  bound_the_end(time_to_return, code,
                fmt::format("troupe: some ranks did not return within {} s; the process ends",
                            time_to_return.count()));
}

/// Shared with the ranks' threads.
struct RanksWatch {
  EndOrSignal<bool> end;
  std::mutex mutex;
  std::string last_checkpoint;  ///< its folder
};

/// Waits for the ranks; a first signal asks them to end, a second one ends the process.
void wait_for_end(SessionCluster& cluster, RanksWatch& watch) {
  if (watch.end.wait()) {
    return;
  }
  std::fprintf(stderr,
               "troupe: stopping after the current step; press Ctrl-C again to stop immediately\n");
  cluster.stop();
  bound_the_end_of_ranks(ExitCode::interrupted);
  if (!watch.end.wait()) {
    std::_Exit(static_cast<int>(ExitCode::interrupted));
  }
}

ExitCode print_outcome(const Job& job, const SessionOutcome& outcome,
                       const std::string& last_checkpoint) {
  if (!outcome.status && outcome.status.error().code() == Errc::cancelled) {
    tell_interrupted(last_checkpoint);
    return ExitCode::interrupted;
  }
  if (!outcome.status) {
    return exit_code_of(outcome.status.error().code());  // printed when it happened
  }
  if (job.digest != DigestMode::off) {
    print(fmt::format("batches {}", to_string(outcome.batches)));
  }
  return ExitCode::done;
}

SessionCluster::Events events_of(const std::shared_ptr<RanksWatch>& watch) {
  SessionCluster::Events events;
  events.failed = [](const Error& why) {
    if (why.code() != Errc::cancelled) {
      bound_the_end_of_ranks(print_error(why));
    }
  };
  events.ended = [watch] { watch->end.end(true); };
  return events;
}

ExitCode run(const RunArguments& arguments, const std::function<Status(Session&)>& fn) {
  std::optional<PreparedRun> prepared;
  if (const auto code = prepare_run_on_hosts(arguments, print, prepared, JobTrainer::own);
      !prepared) {
    return code;
  }
  const auto& job = prepared->job;
  const auto watch = std::make_shared<RanksWatch>();
  SessionSetup setup;
  auto digest = dataset_digest(job);
  if (!digest) {
    return print_error(digest.error(), ExitCode::data);
  }
  const CheckpointedJob run_of_job{job, origin_of_run(*std::move(digest))};
  if (arguments.resume) {
    auto found = find_checkpoint(run_of_job, {}, print);
    if (!found) {
      return print_error(found.error(), ExitCode::data);
    }
    setup.resume = *std::move(found);
  }
  setup.write_checkpoint = checkpoint_writer(run_of_job, {}, [watch](const std::string& folder) {
    const std::lock_guard guard(watch->mutex);
    watch->last_checkpoint = folder;
  });
  setup.say = [](const std::string& text) { std::fprintf(stderr, "troupe: %s\n", text.c_str()); };
  ClusterHooks hooks;
  hooks.say = setup.say;
  auto cluster = SessionCluster::create(job, prepared->store, std::move(setup), std::move(hooks));
  if (!cluster) {
    return print_error(cluster.error());
  }
  print(fmt::format("{} ranks on {} simulated hosts, {} epochs of {} steps", job.cluster.world(),
                    job.cluster.hosts, job.train.epochs, (*cluster)->cluster().steps_per_epoch()));
  (*cluster)->start(fn, events_of(watch));
  wait_for_end(**cluster, *watch);
  const auto outcome = (*cluster)->wait();
  cluster->reset();
  const std::lock_guard guard(watch->mutex);
  return print_outcome(job, outcome, watch->last_checkpoint);
}

}  // namespace

int run_ranks(int argc, char** argv, const std::function<Status(Session&)>& fn) {
  block_stop_signals();
  if (const auto member = member_of_environment()) {
    unsetenv(member_variable);
    return static_cast<int>(run_member(*member, fn));
  }
  const auto arguments = run_environment();
  if (!arguments) {
    return print_usage(argc > 0 ? argv[0] : "program");
  }
  try {
    return static_cast<int>(run(*arguments, fn));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "troupe: internal error: %s\n", error.what());
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace troupe
