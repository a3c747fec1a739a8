#include "launcher/simulation.hpp"

#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "launcher/simulation_data.hpp"
#include "launcher/simulation_stage.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/run/checkpoint.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::uint64_t train_seeds = 48;
constexpr std::uint64_t batch_size = 4;
constexpr std::uint64_t epochs = 2;

}  // namespace

Result<Simulation> Simulation::create(const std::filesystem::path& dir) {
  if (!std::filesystem::exists(dir / "data")) {
    TROUPE_RETURN_IF_ERROR(make_simulation_data(dir / "data", train_seeds));
    TROUPE_RETURN_IF_ERROR(make_heterogeneous_simulation_data(dir / "heterogeneous", train_seeds));
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
  const auto text = fmt::format(
      R"({{
    "dataset": {{ "path": "{}" }},
    "partition": {{ "parts": {} }},
    "cluster": {{ "hosts": {}, "trainers_per_host": {}, "samplers_per_trainer": {},
                 "batches_in_flight": {}, "window": {}, "replicas": {}, "placement": "{}",
                 "device": "{}", "sampler_devices": "{}", {}
                 "network": {{ "latency_us": {}, "bandwidth_gbps": {} }} }},
    "sample": {{ "fanout": [3, 2], "batch_size": {}, "edge_data": [{}] }},
    "features": {{ "cache": {} }},
    "eval": {{ "mode": "{}" }},
    "model": {{ "hidden": 2, "dropout": 0.5 }},
    "train": {{ "epochs": {}, "optimizer": {{ "lr": 0.01 }} }},
    "seed": 5,
    "output": "{}"
  }})",
      plan.heterogeneous ? "heterogeneous" : "data", plan.parts, plan.hosts, plan.trainers_per_host,
      plan.samplers, plan.batches_in_flight, plan.window_bytes, plan.replicas, plan.placement,
      plan.device, plan.sampler_devices,
      plan.servers > 0 ? fmt::format("\"servers\": {},", plan.servers) : "", plan.latency_us,
      plan.bandwidth_gbps, batch_size, plan.heterogeneous ? "\"features\"" : "",
      plan.row_cache > 0 ? fmt::format("{{ \"policy\": \"{}\", \"budget\": {}, \"lookahead\": 5 }}",
                                       plan.known_future ? "future" : "degree", plan.row_cache)
                         : "{}",
      plan.heterogeneous ? "sampled" : "exact", epochs, dir_.string());
  TROUPE_ASSIGN_OR_RETURN(auto reading, parse_job(text, dir_, {}));
  if (!reading.problems.empty()) {
    return Error(Errc::internal, to_string(reading.problems));
  }
  reading.job.checkpoint.steps = plan.checkpoint_steps;
  return std::move(reading.job);
}

Result<PreparedRun> Simulation::prepare(const FaultPlan& plan) const {
  TROUPE_ASSIGN_OR_RETURN(auto job, job_of(plan));
  TROUPE_ASSIGN_OR_RETURN(auto store, prepare_store(job, [](const std::string&) {}));
  fit_to_graph(job, store.info());
  return PreparedRun{std::move(job), std::move(store)};
}

Simulation::Expected Simulation::digests_of(const RunRecord& record) {
  return {record.batches.value_or(Digest{}), record.outputs, record.parameters,
          record.best_parameters};
}

Result<Simulation::Expected> Simulation::expected(std::uint32_t world, bool heterogeneous) {
  if (const auto found = expected_.find({world, heterogeneous}); found != expected_.end()) {
    return found->second;
  }
  FaultPlan calm;
  calm.trainers_per_host = world;
  calm.heterogeneous = heterogeneous;
  TROUPE_ASSIGN_OR_RETURN(const auto prepared, prepare(calm));
  Stage stage(calm, steps(world), dir_ / "none", {});
  TROUPE_ASSIGN_OR_RETURN(const auto result, stage.run(prepared.job, prepared.store));
  return expected_[{world, heterogeneous}] = digests_of(result.record);
}

Status Simulation::check_resume(const FaultPlan& plan, const std::filesystem::path& checkpoints) {
  FaultPlan calm;
  calm.hosts = plan.hosts;
  calm.trainers_per_host = plan.trainers_per_host;
  calm.device = plan.device;
  calm.heterogeneous = plan.heterogeneous;
  TROUPE_ASSIGN_OR_RETURN(const auto prepared, prepare(calm));
  VirtualRuntime runtime({});
  TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                          SimulatedCluster::create(prepared.job, prepared.store, {}, runtime));
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
  TROUPE_ASSIGN_OR_RETURN(const auto right, expected(plan.world(), plan.heterogeneous));
  if (digests_of(result.record) != right) {
    return Error(Errc::internal, fmt::format("resumed from {}: other digests than undisturbed",
                                             found->dir.filename().string()));
  }
  return ok_status();
}

SimulationOutcome Simulation::judge(const FaultPlan& plan, const Result<RunResult>& result,
                                    SimulationOutcome outcome) {
  const auto right = expected(plan.world(), plan.heterogeneous);
  outcome.failed = !result;
  if (!right) {
    outcome.verdict = "the undisturbed run failed: " + right.error().what();
  } else if (!result) {
    const bool named = result.error().what().find(plan.fatal) != std::string::npos;
    outcome.as_expected = !plan.fatal.empty() && named;
    outcome.verdict = "ended: " + result.error().what();
  } else if (!plan.fatal.empty()) {
    outcome.verdict = "succeeded, though it should have failed";
  } else if (const auto found = digests_of(result->record); found != *right) {
    outcome.verdict =
        fmt::format("other digests than undisturbed:{}{}{}{}",
                    found.batches == right->batches ? "" : " batches",
                    found.outputs == right->outputs ? "" : " outputs",
                    found.parameters == right->parameters ? "" : " parameters",
                    found.best_parameters == right->best_parameters ? "" : " best parameters");
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
  if (!outcome.windows) {
    outcome.as_expected = false;
    outcome.verdict = outcome.windows.error().what();
  }
  return outcome;
}

SimulationOutcome Simulation::run(const FaultPlan& plan,
                                  const std::function<void(const std::string&)>& trace) {
  SimulationOutcome outcome;
  const auto prepared = prepare(plan);
  if (!prepared) {
    outcome.verdict = prepared.error().what();
    return outcome;
  }
  const auto checkpoints = dir_ / fmt::format("checkpoints-{}", plan.seed);
  Stage stage(plan, steps(plan.world()), checkpoints, trace);
  const auto result = stage.run(prepared->job, prepared->store);
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
