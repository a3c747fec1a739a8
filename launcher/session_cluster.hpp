#pragma once
/// \file session_cluster.hpp
/// All hosts of a job in this process with a session per rank: what `run_ranks` runs in `simulate`.
#include "launcher/cluster_hooks.hpp"
#include "launcher/session.hpp"
#include "launcher/simulated_cluster.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/run/checkpoint.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace troupe {

struct SessionSetup {
  std::shared_ptr<const Checkpoint> resume = nullptr;  ///< null: from the beginning
  /// Keeps a checkpoint; may block. Empty: none are kept.
  std::function<Status(const Checkpoint&)> write_checkpoint = {};
  std::function<void(const std::string&)> say = {};  ///< a line about what went wrong
};

/// How the ranks' functions ended.
struct SessionOutcome {
  Status status = ok_status();  ///< the first error of any rank, with the rank's number
  Digest batches;               ///< running digest, as rank 0 has it
  std::uint64_t steps = 0;      ///< of the whole run
};

/// Lifecycle:  create(), start() once, wait(); the destructor waits for the ranks, then ends all actors
/// Threads:    one; stop() on any
class SessionCluster {
 public:
  using RankFunction = std::function<Status(Session&)>;

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

  /// Called on the ranks' threads; may be empty.
  struct Events {
    /// A rank has failed, and the calls of all others fail from now on.
    std::function<void(const Error&)> failed = {};
    /// All functions have returned.
    std::function<void()> ended = {};
  };
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
