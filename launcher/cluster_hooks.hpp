#pragma once
/// \file cluster_hooks.hpp
/// Ways to look into a cluster, and to bend it, for progress, predictions, tests and simulation.
#include "actors/data_path.hpp"
#include "actors/host_context.hpp"
#include "actors/trainer.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/trace.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/inference_progress.hpp"
#include "runtime/run/predicted_task.hpp"
#include "runtime/run/step_report.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct ProgramDevice;

/// Where a rank trains: what stands in the place of its trainer is started with this.
struct RankPlace {
  caf::actor_system& system;
  TrainerOptions options;
  std::shared_ptr<const HostContext> host;
  SpawnDataPath data_path;
  std::shared_ptr<ProgramDevice> device;  ///< Of a user program; null: the CPU
  std::shared_ptr<Executor> executor;     ///< Of the process
};

/// Exact inference instead of training: with the parameters of the state that the run starts from.
struct InferenceTask {
  /// Each of one type, in any order, at least one; one list at least.
  std::vector<std::shared_ptr<const SeedList>> nodes;
  bool embeddings = false;  ///< the input rows of the last layer instead of the logits
  PredictedTask task = {};  ///< Of which the job is fitted to its graph
};

/// All may be empty. Called on the threads of actors.
struct ClusterHooks {
  HopObserver on_hop = {};
  std::function<void(const StepReport&)> on_step = {};
  /// A block of exact inference is computed in a process.
  std::function<void(const InferenceReport&)> on_infer = {};
  /// A line about something lost, restarted or rolled back.
  std::function<void(const std::string&)> say = {};
  /// Something was started in a process, for the first time or again; its name as for `kill`.
  std::function<void(ProcessId, const std::string& actor)> on_start = {};
  /// Given each holder after it started; what it returns is used in its place.
  std::function<caf::actor(caf::actor_system&, PartId, caf::actor)> wrap_holder = {};
  /// The same for evaluators.
  std::function<caf::actor(caf::actor_system&, ProcessId, caf::actor)> wrap_evaluator = {};
  /// Asked before a holder is started again; an error keeps it from starting.
  std::function<Status(ProcessId, PartId)> may_restart_holder = {};
  /// How long a rank pauses before a step.
  std::function<std::chrono::milliseconds(Rank, std::uint64_t global_step)> pause = {};
  /// Starts what stands in the place of a rank's trainer; empty: the built-in one.
  std::function<Result<caf::actor>(const RankPlace&)> spawn_rank = {};
  /// For tests: the window of requests for learned rows, and of their gradients; 0: that of the job.
  std::uint64_t learned_window_bytes = 0;
  /// For tests: products in bf16 also where the processor has no unit for them, as exact but slow.
  bool bf16_without_unit = false;
  /// Trainers only take batches: no model, no evaluation.
  bool take_only = false;
  /// A program of the user's trains: the job's learned rows are there, although there is no model.
  bool own_program = false;
  /// It takes batches on devices.
  bool device_batches = false;
  /// Nothing is trained: the run ends with the outputs of these nodes.
  std::optional<InferenceTask> inference = {};
  std::shared_ptr<Tracer> tracer =
      nullptr;  ///< what all actors did and when; null: nothing is kept
};

}  // namespace troupe
