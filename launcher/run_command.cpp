#include "launcher/commands.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "launcher/report.hpp"
#include "launcher/simulated_cluster.hpp"
#include "runtime/job/job_file.hpp"

#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace troupe {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point t) {
  return std::chrono::duration<double>(SteadyClock::now() - t).count();
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

/// Waits for the end of a run or for a stop signal, whichever comes first.
class EndOrSignal {
 public:
  EndOrSignal() : event_(eventfd(0, EFD_CLOEXEC)) {
    const auto set = stop_signals();
    signals_ = signalfd(-1, &set, SFD_CLOEXEC);
  }
  ~EndOrSignal() {
    close(event_);
    close(signals_);
  }
  EndOrSignal(const EndOrSignal&) = delete;
  EndOrSignal& operator=(const EndOrSignal&) = delete;

  void end(Result<RunRecord> result) {
    {
      const std::lock_guard guard(mutex_);
      result_ = std::move(result);
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(event_, &one, sizeof one);
  }
  /// The run's result, or nothing if a signal came first.
  std::optional<Result<RunRecord>> wait() {
    pollfd ends[2] = {{event_, POLLIN, 0}, {signals_, POLLIN, 0}};
    while (poll(ends, 2, -1) < 0) {
    }
    const std::lock_guard guard(mutex_);
    return result_;
  }

 private:
  int event_ = -1;
  int signals_ = -1;
  std::mutex mutex_;
  std::optional<Result<RunRecord>> result_;
};

/// Ends the process should the orderly end take longer than the second that Ctrl-C may take.
void bound_the_end() {
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
    std::_Exit(static_cast<int>(ExitCode::interrupted));
  }).detach();
}

void print_outcome(const Report& report, const Job& job) {
  const auto& record = report.record;
  const auto show = [&](const char* role, const std::optional<Scores>& scores) {
    if (scores) {
      std::printf("%s %s %.4f (%llu nodes, exact, parameters of epoch %u)\n", role,
                  job.eval.metric.c_str(), scores->by_name(job.eval.metric).value_or(0),
                  static_cast<unsigned long long>(scores->labelled),
                  record.best_epoch.value_or(0) + 1);
    }
  };
  show("valid", record.valid);
  show("test ", record.test);
  if (record.batches) {
    std::printf("batches    %s\n", to_string(*record.batches).c_str());
  }
  std::printf("parameters %s\n", to_string(record.parameters).c_str());
  std::printf("%.1f s, report in %s\n", report.run_seconds,
              (job.output / "report.json").string().c_str());
}

ExitCode fail(const Error& error) {
  std::fprintf(stderr, "troupe: %s\n", error.what().c_str());
  return exit_code_of(error.code());
}

ExitCode data_error(const Error& error) {
  std::fprintf(stderr, "troupe: %s\n", error.what().c_str());
  return ExitCode::data;
}

/// Shared with the actors, which may outlive the wait by a moment.
struct Watch {
  EndOrSignal end;
  std::unique_ptr<Progress> progress;
  std::mutex mutex;
  std::vector<EpochRecord> epochs;  ///< so far, for the report of a run that did not end well

  void epoch(const EpochRecord& record) {
    progress->epoch(record);
    const std::lock_guard guard(mutex);
    epochs.push_back(record);
  }
};

ExitCode finish(const Job& job, Report& report, const std::optional<Result<RunRecord>>& result,
                LogFormat log) {
  ExitCode code = ExitCode::done;
  if (!result) {
    report.status = "interrupted";
    code = ExitCode::interrupted;
    std::fprintf(stderr, "troupe: interrupted; stopped without a checkpoint\n");
  } else if (!*result) {
    report.status = "failed";
    report.error = result->error().what();
    code = fail(result->error());
  } else {
    report.status = "done";
    report.record = **result;
    if (log == LogFormat::text) {
      print_outcome(report, job);
    }
  }
  if (const auto written = write_report(report, job, job.output / "report.json"); !written) {
    return fail(written.error());
  }
  return code;
}

ExitCode run_cluster(const Job& job, const PartitionedStore& store, Report& report, LogFormat log,
                     SteadyClock::time_point began) {
  auto watch = std::make_shared<Watch>();
  ClusterHooks hooks;
  hooks.on_step = [watch](Rank) {
    if (watch->progress) {
      watch->progress->step();
    }
  };
  auto cluster = SimulatedCluster::create(job, store, std::move(hooks));
  if (!cluster) {
    return fail(cluster.error());
  }
  watch->progress = std::make_unique<Progress>(
      Progress::Options{.format = log,
                        .terminal = isatty(STDOUT_FILENO) == 1,
                        .epochs = job.train.epochs,
                        .steps_per_epoch = (*cluster)->steps_per_epoch() * job.cluster.world(),
                        .metric = job.eval.metric});
  report.load_seconds = seconds_since(began);
  const auto run_began = SteadyClock::now();
  (*cluster)->start([watch](const EpochRecord& epoch) { watch->epoch(epoch); },
                    [watch](Result<RunRecord> result) { watch->end.end(std::move(result)); });
  const auto result = watch->end.wait();
  if (!result) {
    bound_the_end();
  }
  report.run_seconds = seconds_since(run_began);
  report.traffic = (*cluster)->traffic();
  report.threads = (*cluster)->threads();
  cluster->reset();
  watch->progress.reset();
  report.record.epochs = std::move(watch->epochs);
  return finish(job, report, result, log);
}

}  // namespace

void block_stop_signals() {
  const auto set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

ExitCode run_command(const RunArguments& arguments) {
  const auto began = SteadyClock::now();
  auto reading = read_job_or_print(arguments.job);
  if (!reading) {
    return ExitCode::usage;
  }
  Job& job = *reading;
  const Say say = [&](const std::string& text) {
    if (arguments.log == LogFormat::text) {
      std::printf("%s\n", text.c_str());
      std::fflush(stdout);
    }
  };
  const auto graph = prepare_graph_info(job, say);
  if (!graph) {
    return data_error(graph.error());
  }
  if (!fit_to_graph_or_print(job, *graph)) {
    return ExitCode::usage;
  }
  auto store = prepare_store(job, say);
  if (!store) {
    return data_error(store.error());
  }
  std::error_code error;
  std::filesystem::create_directories(job.output, error);
  if (error) {
    return data_error(
        Error(Errc::failed_precondition,
              fmt::format("output: cannot create {}: {}", job.output.string(), error.message())));
  }
  Report report;
  return run_cluster(job, *store, report, arguments.log, began);
}

}  // namespace troupe
