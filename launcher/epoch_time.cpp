#include "launcher/epoch_time.hpp"

#include "launcher/seconds.hpp"
#include "launcher/simulated_cluster.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/median.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t largest_report = std::uint64_t{256} << 20;

/// A job without what does not change the time of an epoch.
nlohmann::json core_of(nlohmann::json job) {
  for (const char* key : {"output", "checkpoint", "log_every", "trace"}) {
    job.erase(key);
  }
  if (job.contains("train") && job["train"].is_object()) {
    job["train"].erase("epochs");
  }
  return job;
}

/// What the trial's hooks count. Shared with actors, which may outlive the wait by a moment.
struct Trial {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t steps = 0;  ///< of rank 0, after the first
  bool stepped = false;
  SteadyClock::time_point first{};
  SteadyClock::time_point last{};
  std::optional<Status> ended;

  void step(const StepReport& report) {
    const auto now = SteadyClock::now();
    const std::lock_guard guard(mutex);
    if (raw(report.rank) != 0 || ended) {
      return;
    }
    (stepped ? last : first) = now;
    steps += stepped ? 1U : 0U;
    stepped = true;
    changed.notify_all();
  }
  void end(Status status) {
    const std::lock_guard guard(mutex);
    ended = std::move(status);
    changed.notify_all();
  }
};

Job trial_of(const Job& job) {
  Job trial = job;
  trial.cluster.launch = "simulate";
  trial.cluster.network = {};
  trial.train.epochs = 1'000'000;
  trial.eval.every = 0;
  trial.checkpoint = {};
  return trial;
}

}  // namespace

std::optional<double> reported_epoch_seconds(const Job& job) {
  const auto text = read_text_file(job.output / "report.json", largest_report);
  if (!text) {
    return std::nullopt;
  }
  const auto report = nlohmann::json::parse(*text, nullptr, false);
  const auto own = nlohmann::json::parse(job.json, nullptr, false);
  if (!report.is_object() || !own.is_object() || !report.contains("job") ||
      !report.contains("epochs") || core_of(report["job"]) != core_of(own)) {
    return std::nullopt;
  }
  std::vector<double> seconds;
  for (const auto& epoch : report["epochs"]) {
    if (epoch.is_object() && epoch.contains("seconds") && epoch["seconds"].is_number()) {
      seconds.push_back(epoch["seconds"].get<double>());
    }
  }
  return median(std::move(seconds));
}

Result<double> measure_epoch_seconds(const Job& job, const PartitionedStore& store,
                                     double seconds) {
  const auto trial = std::make_shared<Trial>();
  ClusterHooks hooks;
  hooks.on_step = [trial](const StepReport& report) { trial->step(report); };
  TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                          SimulatedCluster::create(trial_of(job), store, std::move(hooks)));
  cluster->start({}, [trial](const Result<RunResult>& result) {
    trial->end(result ? ok_status() : Status(result.error()));
  });
  const auto wanted = seconds_as<SteadyClock::duration>(seconds);
  std::unique_lock lock(trial->mutex);
  trial->changed.wait_for(lock, wanted * 10, [&] { return trial->steps > 0 || trial->ended; });
  if (trial->stepped) {
    trial->changed.wait_until(lock, trial->first + wanted,
                              [&] { return trial->ended.has_value(); });
  }
  if (trial->ended && !*trial->ended) {
    return trial->ended->error();
  }
  const auto steps = trial->steps;
  const auto took = std::chrono::duration<double>(trial->last - trial->first).count();
  lock.unlock();
  cluster->stop();
  lock.lock();
  trial->changed.wait_for(lock, wanted * 10, [&] { return trial->ended.has_value(); });
  if (steps == 0) {
    return Error(Errc::deadline_exceeded,
                 fmt::format("expected two steps in {:g} s, found fewer; try: --measure {:g}",
                             seconds * 10, std::max(2.0, seconds * 5)));
  }
  return took / static_cast<double>(steps) * static_cast<double>(cluster->steps_per_epoch());
}

}  // namespace troupe
