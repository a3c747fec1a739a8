#include "launcher/processes/process_cluster.hpp"

#include "actors/message.hpp"
#include "launcher/processes/process_group.hpp"
#include "launcher/seconds.hpp"
#include "runtime/job/embedding_rules.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace troupe {
namespace {

using std::chrono::milliseconds;

/// How a run ended that is finished before it has ended by itself.
Error not_waited_for() {
  return {Errc::cancelled, "interrupted"};
}

/// With the built-in trainer.
class ProcessCluster final : public Cluster {
 public:
  explicit ProcessCluster(std::unique_ptr<ProcessGroup> group) : group_(std::move(group)) {}
  ~ProcessCluster() override { finish(); }

  void start(RunSetup setup, std::function<void(Result<RunResult>)> on_end) override;
  void stop() override {
    group_->release_output();
    caf::anon_send(director_, Ref<StopRun>(StopRun{}));
  }
  Traffic finish() override;
  std::uint64_t steps_per_epoch() const override {
    const auto& plan = group_->plan();
    return plan.orders.at("train")->num_steps(plan.world());
  }
  std::uint32_t reports_per_step() const override { return 1; }
  const nn::ParameterLayout& layout() const override;
  std::size_t threads() const override { return compute_threads(group_->plan().job.cluster); }
  std::string devices() const override { return group_->plan().device_text(); }

 private:
  void guard_handles(DirectorOptions& options);

  const std::unique_ptr<ProcessGroup> group_;
  caf::actor director_;
  std::optional<Traffic> traffic_;
};

void ProcessCluster::guard_handles(DirectorOptions& options) {
  const auto& layout = group_->plan().layout;
  options.trainer = [this, &layout](Rank rank) {
    return group_->if_settled(layout.process_of(rank), group_->process()->trainer(rank));
  };
  options.evaluators.handle = [this, ids = layout.evaluators()](std::size_t i) {
    return group_->if_settled(ids[i], group_->process()->evaluator(ids[i]));
  };
  options.supervisors.handle = [this, ids = layout.workers()](std::size_t i) {
    return group_->if_settled(ids[i], group_->process()->supervisor(ids[i]));
  };
  options.return_deadline =
      seconds_as<milliseconds>(group_->plan().job.cluster.recovery_deadline_s);
}

void ProcessCluster::start(RunSetup setup, std::function<void(Result<RunResult>)> on_end) {
  auto& end = group_->end();
  const auto once = [&end, on_end](Result<RunResult> result) {
    if (end.finish(result ? ok_status() : Status(result.error()))) {
      on_end(std::move(result));
    }
  };
  auto options =
      director_options(group_->plan(), group_->process(), group_->hooks(), std::move(setup), once);
  if (!options) {
    return;
  }
  guard_handles(*options);
  options->say = group_->setup().say;
  options->io = group_->runtime().io();
  director_ = spawn_director(group_->runtime().system(), *std::move(options));
  group_->watch(director_);
  end.begin([director = director_, on_end](const Error& why) {
    caf::anon_send_exit(director, caf::exit_reason::user_shutdown);
    on_end(why);
  });
}

const nn::ParameterLayout& ProcessCluster::layout() const {
  static const nn::ParameterLayout none;
  const auto& model = group_->plan().network;
  return model ? model->layout() : none;
}

Traffic ProcessCluster::finish() {
  if (!traffic_) {
    group_->end().finish(not_waited_for());
    group_->watch({});
    caf::anon_send_exit(director_, caf::exit_reason::user_shutdown);
    traffic_ = group_->end_all();
  }
  return *traffic_;
}

// ---- ranks with a program of the user's ----

/// How the ranks of all processes end.
class RanksOutcome {
 public:
  /// \param tables  null: the job has no learned rows
  RanksOutcome(Layout layout, std::shared_ptr<const EmbeddingPlan> tables)
      : layout_(std::move(layout)), tables_(std::move(tables)) {
    restart();
  }
  /// All ranks begin again.
  void restart() {
    const std::lock_guard guard(mutex_);
    for (const auto& process : layout_.processes) {
      if (!process.ranks.empty()) {
        missing_.insert(process.id);
      }
    }
    outcome_ = {};
  }
  /// \param told  called once, when all have ended or one with an error
  void wait(std::function<void(SessionOutcome)> told) {
    std::unique_lock guard(mutex_);
    told_ = std::move(told);
    tell(guard);
  }
  void add(const net::RanksEnded& ended) {
    std::unique_lock guard(mutex_);
    if (const auto status = net::status_of(ended); !status && (outcome_.status || interrupted())) {
      outcome_.status = status;
    }
    if (std::ranges::count(layout_.at(ended.instance.process).ranks, Rank{0}) > 0) {
      outcome_.batches = ended.batches;
      outcome_.steps = ended.steps;
      outcome_.tensors = with_names(tables_.get(), ended.tables);
    }
    missing_.erase(ended.instance.process);
    tell(guard);
  }

 private:
  bool interrupted() const {
    return !outcome_.status && outcome_.status.error().code() == Errc::cancelled;
  }
  /// An interrupted run waits for all: rank 0's process may still be sending the checkpoint.
  void tell(std::unique_lock<std::mutex>& guard) {
    if (told_ && (missing_.empty() || !(outcome_.status || interrupted()))) {
      const auto told = std::exchange(told_, nullptr);
      const auto outcome = outcome_;
      guard.unlock();
      told(outcome);
    }
  }

  const Layout layout_;
  const std::shared_ptr<const EmbeddingPlan> tables_;
  std::mutex mutex_;
  std::set<ProcessId> missing_;  ///< Processes whose ranks have not ended
  SessionOutcome outcome_;
  std::function<void(SessionOutcome)> told_;
};

class Sessions final : public ProcessSessions {
 public:
  Sessions(std::unique_ptr<ProcessGroup> group, std::shared_ptr<RanksOutcome> outcome)
      : outcome_(std::move(outcome)), group_(std::move(group)) {}
  ~Sessions() override { finish(); }
  Traffic finish() override {
    if (!traffic_) {
      group_->end().finish(not_waited_for());
      traffic_ = group_->end_all();
    }
    return *traffic_;
  }
  void start(std::function<void(SessionOutcome)> on_end) override {
    auto& end = group_->end();
    const bool started = end.begin(
        [on_end](const Error& why) { on_end({.status = why, .batches = {}, .steps = 0}); });
    if (started) {
      outcome_->wait([&end, on_end](SessionOutcome outcome) {
        if (end.finish(outcome.status)) {
          on_end(std::move(outcome));
        }
      });
    }
  }
  void stop() override {
    group_->release_output();
    group_->stop_ranks();
    const auto first = group_->plan().layout.process_of(Rank{0});  // the ranks follow it
    if (const auto member = group_->process()->member(first)) {
      caf::anon_send(member, Ref<net::StopRanks>(net::StopRanks{}));
    }
  }
  void let_programs_end() override { group_->let_programs_end(); }
  ExitCode wait_for_programs(const std::function<bool()>& stop) override {
    return group_->wait_for_programs(stop);
  }

 private:
  const std::shared_ptr<RanksOutcome> outcome_;
  const std::unique_ptr<ProcessGroup> group_;
  std::optional<Traffic> traffic_;
};

}  // namespace

Result<std::unique_ptr<Cluster>> make_process_cluster(const Job& job, const PartitionedStore& store,
                                                      ProcessClusterSetup setup,
                                                      const std::function<bool()>& stop) {
  TROUPE_ASSIGN_OR_RETURN(auto group, ProcessGroup::open(job, store, std::move(setup), {}));
  const auto complete = group->wait_complete(stop);
  auto cluster = std::make_unique<ProcessCluster>(std::move(group));  // ends all if not
  TROUPE_RETURN_IF_ERROR(complete);
  return std::unique_ptr<Cluster>(std::move(cluster));
}

Result<std::unique_ptr<ProcessSessions>> make_process_sessions(const Job& job,
                                                               const PartitionedStore& store,
                                                               ProcessClusterSetup setup,
                                                               const std::function<bool()>& stop) {
  const auto outcome =
      std::make_shared<RanksOutcome>(make_layout(job), embedding_plan(job, store.info()));
  TROUPE_ASSIGN_OR_RETURN(
      auto group, ProcessGroup::open(job, store, std::move(setup),
                                     {.ended = [outcome](const auto& e) { outcome->add(e); },
                                      .restarted = [outcome] { outcome->restart(); }}));
  const auto complete = group->wait_complete(stop);
  auto sessions = std::make_unique<Sessions>(std::move(group), outcome);
  TROUPE_RETURN_IF_ERROR(complete);
  return std::unique_ptr<ProcessSessions>(std::move(sessions));
}

}  // namespace troupe
