#pragma once
/// \file rank_threads.hpp
/// The threads of the ranks that a user's own program trains in this process: a session each.
#include "launcher/cluster_hooks.hpp"
#include "launcher/session.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/embedding/options.hpp"
#include "runtime/job/job.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/run_record.hpp"
#include "runtime/run/step_report.hpp"
#include "runtime/wire/messages.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct SessionSetup {
  std::shared_ptr<const Checkpoint> resume = nullptr;  ///< null: from the beginning
  /// Keeps a checkpoint; may block. Empty: none are kept.
  std::function<Status(const Checkpoint&)> write_checkpoint = {};
  /// Gives holders the learned rows of `resume`; may block. Empty: they are read from there.
  std::function<Status()> load_tables = {};
  /// The same of its rows of tensors by name, once the ranks have made these.
  std::function<Status()> load_tensors = {};
  std::function<void(const std::string&)> say = {};  ///< a line about what went wrong
  /// A rank here has made the last step of an epoch. Returns once it is recorded; may be empty.
  std::function<Status(const net::RankEpoch&)> on_epoch = {};
  /// Rank 0 has made a step; loss and rate are not known. May be empty.
  std::function<void(const StepReport&)> on_step = {};
  RanksOptions options = {};
};

/// How the ranks' functions ended.
struct SessionOutcome {
  Status status = ok_status();             ///< the first error of any rank, with the rank's number
  Digest batches;                          ///< running digest, as the lowest rank here has it
  std::uint64_t steps = 0;                 ///< of the whole run
  std::vector<TableDigest> tables = {};    ///< Of learned rows, where rank 0 is
  std::vector<TensorDigest> tensors = {};  ///< The same by name
};

/// Digests of tables with their names.
/// \param plan  null: there are none
std::vector<TensorDigest> with_names(const EmbeddingPlan* plan,
                                     const std::vector<TableDigest>& tables);

/// Called on the ranks' threads; may be empty.
struct RankEvents {
  /// A rank has failed, and the calls of all others here fail from now on.
  std::function<void(const Error&)> failed = {};
  /// All functions have returned.
  std::function<void()> ended = {};
};

/// Lifecycle:  add_to() the hooks of the cluster that starts the ranks' actors; start() once when they
///   are started; wait(); the destructor waits for the ranks
/// Threads:    one; wait(), stop() and fail() on any
class RankThreads {
 public:
  using RankFunction = std::function<Status(Session&)>;
  RankThreads(const Job& job, SessionSetup setup);
  ~RankThreads();
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;

  /// Sets spawn_rank, take_only and what the program is.
  void add_to(ClusterHooks& hooks);
  /// Calls `fn` in a thread per rank.
  void start(RankFunction fn, RankEvents events);
  SessionOutcome wait();
  /// Asks the ranks to end with a checkpoint, after the step under way.
  void stop();
  /// The run has ended: all calls of the ranks here fail with `why`.
  void fail(const Error& why);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
