#include "launcher/simulation.hpp"

#include "actors/local_messages.hpp"
#include "actors/message.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/data/rmat.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/graph/npy.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/sample/one_hop.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint64_t train_seeds = 48;
constexpr std::uint64_t batch_size = 4;
constexpr std::uint64_t epochs = 2;
constexpr std::uint64_t virtual_gigabit = 125'000'000;  // bytes per second

// ---- a holder that answers late ----

struct Later {
  std::function<void()> run;
};

caf::behavior late_holder(caf::event_based_actor* self, const caf::actor& holder,
                          std::chrono::microseconds delay) {
  self->link_to(holder);
  const auto pass_on = [=](auto request) {
    auto promise = std::make_shared<caf::response_promise>(self->make_response_promise());
    self->delayed_send(
        self, delay,
        Ref<Later>(Later{[promise, holder, request] { promise->delegate(holder, request); }}));
  };
  return {
      [=](const Ref<HopRequest>& request) { pass_on(request); },
      [=](const Ref<RowRequest>& request) { pass_on(request); },
      [=](const Ref<StoreTensor>& request) { pass_on(request); },
      [](const Ref<Later>& later) { later->run(); },
  };
}

// ---- one run ----

/// A run under way and the faults that happen to it.
class Stage {
 public:
  Stage(const FaultPlan& plan, const std::filesystem::path& checkpoints,
        std::function<void(const std::string&)> trace)
      : plan_(plan),
        trace_(std::move(trace)),
        checkpoints_(checkpoints),
        runtime_({.seed = plan.seed, .longest_task = std::chrono::microseconds(200)}) {}

  Result<RunResult> run(const Job& job, const PartitionedStore& store);

  SimulationOutcome outcome() const { return outcome_; }

 private:
  void tell(const std::string& what);
  ClusterHooks hooks();
  void on_step(const StepReport& report);
  void schedule(const Fault& fault);
  void happen(const Fault& fault);
  void cut(const Fault& fault);
  void slow(const Fault& fault);
  void kill(HostId host, const std::string& actor);
  void later(std::chrono::microseconds after, std::function<void()> what) {
    runtime_.driver().at(runtime_.driver().now() + after, [this, what = std::move(what)] {
      if (!over_) {
        what();
      }
    });
  }

  const FaultPlan& plan_;
  const std::function<void(const std::string&)> trace_;
  const std::filesystem::path checkpoints_;
  SimulationOutcome outcome_;
  VirtualRuntime runtime_;
  std::unique_ptr<SimulatedCluster> cluster_;
  std::set<std::size_t> happened_;  ///< faults, by number
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::chrono::microseconds> pauses_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> gone_;  ///< (host, part) that cannot be started
  std::uint32_t full_disks_ = 0;
  bool over_ = false;   ///< faults that were to come no longer happen
  std::string cursed_;  ///< an actor that is killed whenever it starts
};

void Stage::tell(const std::string& what) {
  const auto line =
      fmt::format("{:>12.3f} ms: {}",
                  std::chrono::duration<double, std::milli>(runtime_.elapsed()).count(), what);
  outcome_.log = chain(outcome_.log, digest_of(std::as_bytes(std::span(line))));
  if (trace_) {
    trace_(line);
  }
}

ClusterHooks Stage::hooks() {
  ClusterHooks hooks;
  hooks.on_step = [this](const StepReport& report) { on_step(report); };
  hooks.on_start = [this](HostId host, const std::string& actor) {
    if (actor == cursed_) {
      later(std::chrono::microseconds(1), [this, host, actor] { kill(host, actor); });
    }
  };
  hooks.say = [this](const std::string& text) {
    outcome_.rollbacks += text.find("all ranks go back") != std::string::npos ? 1U : 0U;
    outcome_.restarts += text.find("started the holder") != std::string::npos ? 1U : 0U;
    tell(text);
  };
  hooks.pause = [this](Rank rank, std::uint64_t step) {
    const auto found = pauses_.find({raw(rank), step});
    if (found == pauses_.end()) {
      return std::chrono::milliseconds(0);
    }
    const auto length = found->second;
    pauses_.erase(found);
    tell(fmt::format("rank {} stalls for {} us", raw(rank), length.count()));
    return std::chrono::ceil<std::chrono::milliseconds>(length);
  };
  hooks.may_restart_holder = [this](HostId host, PartId part) -> Status {
    if (gone_.contains({raw(host), raw(part)})) {
      return Error(Errc::data_corruption, "its store cannot be read any more");
    }
    return ok_status();
  };
  if (plan_.holder_delay.count() > 0) {
    hooks.wrap_holder = [this](caf::actor_system& system, PartId part, caf::actor holder) {
      return part == plan_.slow_part ? system.spawn(late_holder, holder, plan_.holder_delay)
                                     : holder;
    };
  }
  return hooks;
}

void Stage::on_step(const StepReport& report) {
  tell(fmt::format("rank {} made step {}", raw(report.rank), report.global_step));
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    const auto& fault = plan_.faults[i];
    if (report.global_step == fault.step && happened_.insert(i).second) {
      schedule(fault);
    }
  }
}

void Stage::schedule(const Fault& fault) {
  const bool stalls =
      fault.kind == FaultKind::stall_trainer || fault.kind == FaultKind::stall_trainer_forever;
  if (stalls) {  // takes effect at the rank's next step
    const auto length = fault.kind == FaultKind::stall_trainer
                            ? fault.lasts
                            : std::chrono::microseconds(std::chrono::hours(20));
    pauses_[{raw(fault.rank), fault.step + 1}] = length;
    return;
  }
  later(fault.after, [this, fault] { happen(fault); });
}

void Stage::kill(HostId host, const std::string& actor) {
  tell(fmt::format("fault: the {} on host {} is killed", actor, raw(host)));
  cluster_->kill(host, actor);
}

void Stage::cut(const Fault& fault) {
  const auto cable = cluster_->cable(fault.host, fault.other);
  tell(fmt::format("fault: the link of hosts {} and {} is cut", raw(fault.host), raw(fault.other)));
  cable->cut(Error(Errc::peer_lost, "cut"), {.lose_in_flight = fault.lose_in_flight, .notice = {}});
  if (fault.kind == FaultKind::cut_link) {
    later(fault.lasts, [this, cable] {
      tell("the link is healed");
      cable->heal();
    });
  }
}

void Stage::slow(const Fault& fault) {
  const auto cable = cluster_->cable(fault.host, fault.other);
  tell(
      fmt::format("fault: the link of hosts {} and {} is slow", raw(fault.host), raw(fault.other)));
  cable->set_latency(std::chrono::milliseconds(20));
  cable->set_bandwidth(static_cast<double>(virtual_gigabit) / 100);
  later(fault.lasts, [this, cable] {
    cable->set_latency(std::chrono::microseconds(static_cast<std::int64_t>(plan_.latency_us)));
    cable->set_bandwidth(plan_.bandwidth_gbps * static_cast<double>(virtual_gigabit));
  });
}

void Stage::happen(const Fault& fault) {
  const auto rank = fmt::format("trainer of rank {}", raw(fault.rank));
  const auto holder = fmt::format("holder of part {}", raw(fault.part));
  const auto home = static_cast<HostId>(raw(fault.part) % plan_.hosts);
  switch (fault.kind) {
    case FaultKind::cut_link:
    case FaultKind::cut_link_forever:
      return cut(fault);
    case FaultKind::slow_link:
      return slow(fault);
    case FaultKind::lose_sampler:
      return kill(fault.host, "sampler 0 of " + rank);
    case FaultKind::lose_collector:
      return kill(fault.host, "collector of " + rank);
    case FaultKind::lose_holder:
      return kill(home, holder);
    case FaultKind::lose_holder_forever:
      gone_.insert({raw(fault.host), raw(fault.part)});
      return kill(fault.host, holder);
    case FaultKind::lose_trainer:
      return kill(fault.host, rank);
    case FaultKind::lose_trainer_always:
      cursed_ = rank;
      return kill(fault.host, rank);
    case FaultKind::lose_evaluator:
      return kill(fault.host, "evaluator");
    case FaultKind::disk_error:
      tell("fault: the disk is full");
      ++full_disks_;
      later(fault.lasts, [this] { --full_disks_; });
      return;
    case FaultKind::stall_trainer:
    case FaultKind::stall_trainer_forever:
      return;
  }
}

Result<RunResult> Stage::run(const Job& job, const PartitionedStore& store) {
  TROUPE_ASSIGN_OR_RETURN(cluster_, SimulatedCluster::create(job, store, hooks(), runtime_));
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    if (plan_.faults[i].step == 0 && happened_.insert(i).second) {
      schedule(plan_.faults[i]);
    }
  }
  RunSetup setup;
  if (plan_.checkpoint_steps > 0) {
    CheckpointFolderOptions options;
    options.dir = checkpoints_;
    options.layout = cluster_->layout();
    options.flush = Flush::no;
    options.before_write = [this](const std::filesystem::path& path) -> Status {
      if (full_disks_ > 0) {
        return Error(Errc::failed_precondition,
                     fmt::format("{}: no space left on device", path.filename().string()));
      }
      return ok_status();
    };
    const auto folder = std::make_shared<CheckpointFolder>(std::move(options));
    setup.write_checkpoint = [folder](const Checkpoint& what) { return folder->write(what); };
  }
  auto result = cluster_->run(std::move(setup));
  over_ = true;
  outcome_.traffic = cluster_->traffic();
  outcome_.elapsed = runtime_.elapsed();
  tell(result ? "the run is done" : "the run ended: " + result.error().what());
  cluster_.reset();
  return result;
}

// ---- data ----

Status write_ids(const std::filesystem::path& file, std::uint64_t first, std::uint64_t count) {
  std::vector<std::int64_t> ids;
  for (std::uint64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<std::int64_t>(first + i));
  }
  const std::array<std::uint64_t, 1> shape = {count};
  const auto header = npy_header({'i', 8}, shape);
  const std::array<std::span<const std::byte>, 2> pieces = {std::as_bytes(std::span(header)),
                                                            std::as_bytes(std::span(ids))};
  return write_new_file(file, pieces);
}

Status make_data(const std::filesystem::path& dir) {
  InlineExecutor executor;
  RmatOptions options;
  options.nodes = 96;
  options.edges = 400;
  options.symmetrize = true;
  options.features = 6;
  options.classes = 3;
  options.train = train_seeds;
  options.seed = 7;
  TROUPE_RETURN_IF_ERROR(generate_rmat(options, executor, dir));
  TROUPE_RETURN_IF_ERROR(write_ids(dir / "val_idx.npy", 0, 40));
  return write_ids(dir / "test_idx.npy", 40, 40);
}

}  // namespace

Result<Simulation> Simulation::create(const std::filesystem::path& dir) {
  if (!std::filesystem::exists(dir / "data")) {
    TROUPE_RETURN_IF_ERROR(make_data(dir / "data"));
  }
  return Simulation(dir);
}

std::uint64_t Simulation::steps(std::uint32_t world) const {
  const std::uint64_t batches = (train_seeds + batch_size - 1) / batch_size;
  return epochs * ((batches + world - 1) / world);
}

FaultPlan Simulation::plan(std::uint64_t seed) const {
  const auto shape = make_fault_plan(seed, 1);  // the cluster does not depend on the steps
  return make_fault_plan(seed, steps(shape.world()));
}

Result<Job> Simulation::job_of(const FaultPlan& plan) const {
  const auto text =
      fmt::format(R"({{
    "dataset": {{ "path": "data" }},
    "partition": {{ "parts": {} }},
    "cluster": {{ "hosts": {}, "trainers_per_host": {}, "samplers_per_trainer": {},
                 "batches_in_flight": {}, "window": {}, "replicas": {},
                 "network": {{ "latency_us": {}, "bandwidth_gbps": {} }} }},
    "sample": {{ "fanout": [3, 2], "batch_size": {} }},
    "model": {{ "hidden": 4, "dropout": 0.5 }},
    "train": {{ "epochs": {}, "optimizer": {{ "lr": 0.01 }} }},
    "seed": 5,
    "output": "{}"
  }})",
                  plan.parts, plan.hosts, plan.trainers_per_host, plan.samplers,
                  plan.batches_in_flight, plan.window_bytes, plan.replicas, plan.latency_us,
                  plan.bandwidth_gbps, batch_size, epochs, dir_.string());
  TROUPE_ASSIGN_OR_RETURN(auto reading, parse_job(text, dir_, {}));
  if (!reading.problems.empty()) {
    return Error(Errc::internal, to_string(reading.problems));
  }
  reading.job.checkpoint.steps = plan.checkpoint_steps;
  return std::move(reading.job);
}

Simulation::Expected Simulation::digests_of(const RunRecord& record) {
  return {record.batches.value_or(Digest{}), record.outputs, record.parameters,
          record.best_parameters};
}

Result<Simulation::Expected> Simulation::expected(std::uint32_t world) {
  if (const auto found = expected_.find(world); found != expected_.end()) {
    return found->second;
  }
  FaultPlan calm;
  calm.trainers_per_host = world;
  TROUPE_ASSIGN_OR_RETURN(auto job, job_of(calm));
  TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(job, [](const std::string&) {}));
  fit_to_graph(job, store.info());
  Stage stage(calm, dir_ / "none", {});
  TROUPE_ASSIGN_OR_RETURN(const auto result, stage.run(job, store));
  return expected_[world] = digests_of(result.record);
}

Status Simulation::check_resume(const FaultPlan& plan, const std::filesystem::path& checkpoints) {
  FaultPlan calm;
  calm.hosts = plan.hosts;
  calm.trainers_per_host = plan.trainers_per_host;
  TROUPE_ASSIGN_OR_RETURN(auto job, job_of(calm));
  TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(job, [](const std::string&) {}));
  fit_to_graph(job, store.info());
  VirtualRuntime runtime({});
  TROUPE_ASSIGN_OR_RETURN(const auto cluster, SimulatedCluster::create(job, store, {}, runtime));
  CheckpointFolderOptions options;
  options.dir = checkpoints;
  options.layout = cluster->layout();
  std::vector<SkippedCheckpoint> skipped;
  auto found = CheckpointFolder(std::move(options)).latest(skipped);
  if (!found) {
    return ok_status();  // faults have kept any from being written
  }
  TROUPE_ASSIGN_OR_RETURN(
      const auto result,
      cluster->run({.resume = std::make_shared<const Checkpoint>(std::move(found->checkpoint))}));
  TROUPE_ASSIGN_OR_RETURN(const auto right, expected(plan.world()));
  if (digests_of(result.record) != right) {
    return Error(Errc::internal, fmt::format("resumed from {}: other digests than undisturbed",
                                             found->dir.filename().string()));
  }
  return ok_status();
}

SimulationOutcome Simulation::judge(const FaultPlan& plan, const Result<RunResult>& result,
                                    SimulationOutcome outcome) {
  const auto right = expected(plan.world());
  outcome.failed = !result;
  if (!right) {
    outcome.verdict = "the undisturbed run failed: " + right.error().what();
  } else if (!result) {
    const bool named = result.error().what().find(plan.fatal) != std::string::npos;
    outcome.as_expected = !plan.fatal.empty() && named;
    outcome.verdict = "ended: " + result.error().what();
  } else if (!plan.fatal.empty()) {
    outcome.verdict = "succeeded, though it should have failed";
  } else if (digests_of(result->record) != *right) {
    outcome.verdict = "other digests than undisturbed";
  } else {
    outcome.as_expected = true;
    outcome.verdict = "the right digests";
  }
  if (outcome.elapsed > time_limit(plan)) {
    outcome.as_expected = false;
    outcome.verdict += fmt::format(", but after {:.3f} s, not within {:.3f} s",
                                   std::chrono::duration<double>(outcome.elapsed).count(),
                                   std::chrono::duration<double>(time_limit(plan)).count());
  }
  // An answer larger than the window passes alone; states are charged with a mebibyte.
  const auto most_in_flight = plan.window_bytes + (std::uint64_t{2} << 20);
  const auto most_queued = 4 * plan.window_bytes + (std::uint64_t{1} << 20);
  if (outcome.traffic.max_in_flight_bytes > most_in_flight ||
      outcome.traffic.max_queued_bytes > most_queued) {
    outcome.as_expected = false;
    outcome.verdict =
        fmt::format("{} bytes in flight and {} queued, past the windows",
                    outcome.traffic.max_in_flight_bytes, outcome.traffic.max_queued_bytes);
  }
  return outcome;
}

SimulationOutcome Simulation::run(const FaultPlan& plan,
                                  const std::function<void(const std::string&)>& trace) {
  SimulationOutcome outcome;
  auto job = job_of(plan);
  if (!job) {
    outcome.verdict = job.error().what();
    return outcome;
  }
  const auto store = prepare_store(*job, [](const std::string&) {});
  if (!store) {
    outcome.verdict = store.error().what();
    return outcome;
  }
  fit_to_graph(*job, store->info());
  const auto checkpoints = dir_ / fmt::format("checkpoints-{}", plan.seed);
  Stage stage(plan, checkpoints, trace);
  const auto result = stage.run(*job, *store);
  outcome = judge(plan, result, stage.outcome());
  if (outcome.as_expected && plan.checkpoint_steps > 0) {
    if (const auto resumed = check_resume(plan, checkpoints); !resumed) {
      outcome.as_expected = false;
      outcome.verdict = resumed.error().what();
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(checkpoints, ignored);
  return outcome;
}

}  // namespace troupe
