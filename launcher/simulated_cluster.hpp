#pragma once
/// \file simulated_cluster.hpp
/// A whole cluster in this process: hosts with their holders, samplers, collectors, trainers and
/// evaluators, joined by simulated links. What crosses hosts is encoded, framed, windowed and
/// decoded as it would be between machines.
#include "actors/host_context.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/net/endpoint.hpp"
#include "runtime/run/conductor.hpp"

#include <caf/actor.hpp>

#include <functional>
#include <memory>

namespace troupe {

/// Ways to look into a cluster, and to bend it, for tests and progress. All may be empty.
struct ClusterHooks {
  HopObserver on_hop = {};
  std::function<void(Rank)> on_step = {};
  /// Given each holder after it started; what it returns is used in its place.
  std::function<caf::actor(caf::actor_system&, PartId, caf::actor)> wrap_holder = {};
  /// Trainers only take batches: no model, no evaluation.
  bool take_only = false;
};

/// Bytes and requests over all simulated links, both directions.
struct Traffic {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  std::uint64_t max_in_flight_bytes = 0;  ///< of any link end
  std::uint64_t max_queued_bytes = 0;
};

/// Lifecycle:  create() starts everything but the director; run() once; the destructor ends all
///   actors, links and threads
/// Threads:    run() and the destructor on one thread; cancel() and traffic() on any
class SimulatedCluster {
 public:
  /// \param job  checked against the store's graph.
  /// \errors those of loading parts; invalid_argument
  static Result<std::unique_ptr<SimulatedCluster>> create(const Job& job,
                                                          const PartitionedStore& store,
                                                          ClusterHooks hooks);
  ~SimulatedCluster();
  SimulatedCluster(const SimulatedCluster&) = delete;
  SimulatedCluster& operator=(const SimulatedCluster&) = delete;

  /// Starts the director. `on_end` is called once, on another thread, with the record or with what
  /// ended the run.
  void start(Conductor::Progress progress, std::function<void(Result<RunRecord>)> on_end);
  /// start() and wait.
  Result<RunRecord> run(Conductor::Progress progress);

  /// Steps of all ranks in one epoch.
  std::uint64_t steps_per_epoch() const;
  std::size_t threads() const;
  Traffic traffic() const;

 private:
  struct State;
  explicit SimulatedCluster(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace troupe
