#pragma once
/// \file simulated_cluster.hpp
/// A whole cluster in this process: hosts with their actors, joined by simulated cables. What crosses
/// hosts is encoded, framed, windowed and decoded as it would be between machines.
#include "launcher/cluster_hooks.hpp"
#include "launcher/cluster_runtime.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/net/endpoint.hpp"
#include "runtime/net/sim_cable.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/conductor.hpp"

#include <caf/actor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// Bytes and requests over all simulated links, both directions.
struct Traffic {
  std::uint64_t requests = 0;
  std::uint64_t resent = 0;
  std::uint64_t bytes = 0;
  std::uint64_t interruptions = 0;        ///< links that broke and came back
  std::uint64_t max_in_flight_bytes = 0;  ///< of any link end
  std::uint64_t max_queued_bytes = 0;
};

/// How a run is started.
struct RunSetup {
  Conductor::Progress progress = {};
  std::shared_ptr<const Checkpoint> resume = nullptr;  ///< null: from the beginning
  /// Keeps a checkpoint; may block. Empty: none are kept.
  std::function<Status(const Checkpoint&)> write_checkpoint = {};
  /// Takes the place of the initial parameters; for an InferenceTask. Empty: those of the job's seed.
  std::vector<float> parameters = {};
};

/// What a run leaves: its record, the last state with the best epoch's parameters, and outputs.
struct RunResult {
  RunRecord record;
  std::shared_ptr<const TrainingState> state;
  /// Of the test seeds (`eval.predictions`), or of the nodes of an InferenceTask, in their order.
  std::shared_ptr<const Matrix> outputs;
};

/// Lifecycle:  create() starts everything but the director; start() or run() once; the destructor
///   ends all actors and links
/// Threads:    one; stop() and traffic() on any
class SimulatedCluster {
 public:
  /// On all cores, in real time.
  /// \param job  checked against the store's graph.
  /// \errors those of loading parts; invalid_argument
  static Result<std::unique_ptr<SimulatedCluster>> create(const Job& job,
                                                          const PartitionedStore& store,
                                                          ClusterHooks hooks);
  /// \param runtime  must outlive the cluster
  static Result<std::unique_ptr<SimulatedCluster>> create(const Job& job,
                                                          const PartitionedStore& store,
                                                          ClusterHooks hooks,
                                                          ClusterRuntime& runtime);
  ~SimulatedCluster();
  SimulatedCluster(const SimulatedCluster&) = delete;
  SimulatedCluster& operator=(const SimulatedCluster&) = delete;

  /// Starts the director. `on_end` is called once, on another thread, with how the run went or with
  /// what ended it.
  void start(RunSetup setup, std::function<void(Result<RunResult>)> on_end);
  /// start() and wait.
  Result<RunResult> run(RunSetup setup = {});
  /// Takes a checkpoint, if any are kept, and ends the run with `cancelled`.
  void stop();

  /// Steps of all ranks in one epoch.
  std::uint64_t steps_per_epoch() const;
  const nn::ParameterLayout& layout() const;  ///< empty if trainers only take batches
  std::size_t threads() const;
  Traffic traffic() const;

  // ---- to bend it ----

  /// Kills an actor by its name on a host, e.g. "trainer of rank 1", "sampler 0 of trainer of rank 1".
  /// False: there is none of that name.
  bool kill(HostId host, const std::string& actor);
  std::shared_ptr<net::SimCable> cable(HostId a, HostId b);

 private:
  struct State;
  explicit SimulatedCluster(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace troupe
