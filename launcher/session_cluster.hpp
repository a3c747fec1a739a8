#pragma once
/// \file session_cluster.hpp
/// All hosts of a job in this process with a session per rank: what `run_ranks` runs in `simulate`.
#include "launcher/cluster_hooks.hpp"
#include "launcher/rank_threads.hpp"
#include "launcher/session.hpp"
#include "launcher/simulated_cluster.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/run/checkpoint.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

/// Lifecycle:  create(), start() once, wait(); the destructor waits for the ranks, then ends all actors
/// Threads:    one; stop() on any
class SessionCluster {
 public:
  using RankFunction = RankThreads::RankFunction;
  using Events = RankEvents;

  /// \param job    checked against the store's graph
  /// \param hooks  spawn_rank and take_only are set here
  /// \errors those of loading parts
  static Result<std::unique_ptr<SessionCluster>> create(const Job& job,
                                                        const PartitionedStore& store,
                                                        SessionSetup setup,
                                                        ClusterHooks hooks = {});
  ~SessionCluster();
  SessionCluster(const SessionCluster&) = delete;
  SessionCluster& operator=(const SessionCluster&) = delete;

  /// Calls `fn` in a thread per rank.
  void start(RankFunction fn, Events events);
  void start(RankFunction fn) { start(std::move(fn), {}); }
  SessionOutcome wait();
  /// Asks the ranks to end with a checkpoint, after the step under way.
  void stop();

  SimulatedCluster& cluster();

 private:
  struct State;
  explicit SessionCluster(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace troupe
