#pragma once
/// \file process_cluster.hpp
/// A cluster of real processes, seen from the one that directs it: starts the agents, takes everybody
/// in, runs the director, ends everybody.
#include "launcher/cluster.hpp"
#include "launcher/exit_code.hpp"
#include "launcher/processes/process_setup.hpp"
#include "launcher/rank_threads.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"

#include <functional>
#include <memory>

namespace troupe {

/// Makes it and waits until all processes are there.
/// \errors those of starting agents and of processes that cannot join; deadline_exceeded: who is
///   missing; cancelled: `stop` said so
/// \param stop  asked now and then while waiting
Result<std::unique_ptr<Cluster>> make_process_cluster(const Job& job, const PartitionedStore& store,
                                                      ProcessClusterSetup setup,
                                                      const std::function<bool()>& stop);

/// Real processes whose ranks a program of the user's trains.
/// Lifecycle:  made ready; start() once; the destructor ends all processes
/// Threads:    one; stop() on any
class ProcessSessions {
 public:
  virtual ~ProcessSessions() = default;
  /// Waits for the ranks. `on_end` is called once, on another thread: when all have ended, with the
  /// first error of any, or with what ended the run.
  virtual void start(std::function<void(SessionOutcome)> on_end) = 0;
  /// Asks the ranks to end with a checkpoint, after the step under way.
  virtual void stop() = 0;
  /// After the end: lets all processes end, and counts what their links carried.
  virtual Traffic finish() = 0;
  /// After finish(): waits until the programs have ended, which have printed all then, for some seconds.
  virtual void let_programs_end() = 0;
  /// After that, where the ranks have ended well: waits for the programs, which may still work, without a
  /// bound. Those of hosts that joined by hand are not waited for.
  /// \param stop  asked now and then; the programs that still run then are killed
  /// \returns the exit code of one that did not end with 0; interrupted: `stop` was true
  virtual ExitCode wait_for_programs(const std::function<bool()>& stop) = 0;
};
/// \errors as make_process_cluster
Result<std::unique_ptr<ProcessSessions>> make_process_sessions(const Job& job,
                                                               const PartitionedStore& store,
                                                               ProcessClusterSetup setup,
                                                               const std::function<bool()>& stop);

}  // namespace troupe
