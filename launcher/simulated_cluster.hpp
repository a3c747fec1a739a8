#pragma once
/// \file simulated_cluster.hpp
/// A whole cluster in this process: its processes with their actors, joined by simulated cables. What
/// crosses them is encoded, framed, windowed and decoded as it would be between machines.
#include "launcher/cluster_hooks.hpp"
#include "launcher/cluster_runtime.hpp"
#include "launcher/director_options.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/net/endpoint.hpp"
#include "runtime/net/sim_cable.hpp"

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

  /// Kills an actor by its name in a process, e.g. "trainer of rank 1", "sampler 0 of trainer of rank 1".
  /// False: there is none of that name.
  bool kill(ProcessId process, const std::string& actor);
  std::shared_ptr<net::SimCable> cable(ProcessId a, ProcessId b);

 private:
  struct State;
  explicit SimulatedCluster(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace troupe
