#pragma once
/// \file simulated_cluster.hpp
/// A whole cluster in this process: its processes with their actors, joined by simulated cables. What
/// crosses them is encoded, framed, windowed and decoded as it would be between machines.
#include "launcher/cluster.hpp"
#include "launcher/cluster_hooks.hpp"
#include "launcher/cluster_runtime.hpp"
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

/// Lifecycle:  create() starts everything but the director; start() or run() once; the destructor
///   ends all actors and links
/// Threads:    one; stop() and traffic() on any
class SimulatedCluster final : public Cluster {
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
  ~SimulatedCluster() override;
  SimulatedCluster(const SimulatedCluster&) = delete;
  SimulatedCluster& operator=(const SimulatedCluster&) = delete;

  void start(RunSetup setup, std::function<void(Result<RunResult>)> on_end) override;
  /// start() and wait.
  Result<RunResult> run(RunSetup setup = {});
  void stop() override;
  Traffic finish() override { return traffic(); }

  std::uint64_t steps_per_epoch() const override;
  std::uint32_t reports_per_step() const override;
  const nn::ParameterLayout& layout() const override;
  std::size_t threads() const override;
  std::string devices() const override;
  Traffic traffic() const;
  /// Compares the bytes that were really in flight and queued with the windows, at every link end.
  /// \errors internal: the processes and what was over which window
  Status check_windows() const;

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
