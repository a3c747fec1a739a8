#pragma once
/// \file director.hpp
/// The director: one per job. Leads all ranks and evaluators through epochs, evaluations and the end, as
/// its Conductor says; takes states and writes checkpoints as its CheckpointManager says; after a loss
/// regroups the processes and rolls all ranks back as its Recovery says.
#include "actors/watched_group.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/trace.hpp"
#include "runtime/run/checkpoint_manager.hpp"
#include "runtime/run/conductor.hpp"
#include "runtime/run/restart_budget.hpp"

#include <caf/actor.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// What a run leaves: its record, the last state with the best epoch's parameters, and the outputs
/// that its conductor was to keep.
struct RunEnd {
  RunRecord record;
  std::shared_ptr<const TrainingState> state;
  OutputsOfRoles outputs;  ///< that were kept
};

struct DirectorOptions {
  std::uint32_t world = 1;
  std::function<caf::actor(Rank)> trainer;  ///< as ActorGroup::handle
  ActorGroup evaluators;                    ///< none: exact inference is never asked for
  ActorGroup supervisors;                   ///< none: nothing is recovered, a loss ends the run
  /// How long a lost process may take to come back; whoever starts it again sends ProcessesChanged.
  /// 0: none comes back, the loss of a supervisor ends the run.
  std::chrono::milliseconds return_deadline{0};
  std::function<void(std::uint32_t)> on_generation =
      {};  ///< before anyone else knows; may be empty
  ConductorOptions conductor;
  Conductor::Progress progress;
  /// Called once, on the director's thread: how the run went, or what ended it.
  std::function<void(Result<RunEnd>)> on_end;

  /// Where the run begins: the state before the first step, or that of a checkpoint.
  std::shared_ptr<const Checkpoint> start;
  CheckpointSchedule checkpoints;
  /// Blocks on the disk; called on `io`, one at a time. A failure is told and the run goes on.
  std::function<Status(const Checkpoint&)> write_checkpoint;
  std::shared_ptr<Executor> io;
  /// Gives the holders the learned rows of a checkpoint. Blocks; called on `io`. Empty: the job has none.
  std::function<Status(const Checkpoint&)> load_tables = {};
  /// Writes the learned rows of the last state, at a step, for whoever uses the model. Blocks; called on
  /// `io`. A holder that is lost takes all back; another failure ends the run. Empty: they are not written.
  std::function<Status(std::uint64_t step)> write_tables = {};
  /// The newest checkpoint on disk, null if there is none, for a run whose holders have lost learned rows.
  /// Blocks; called on `io`. An error ends the run.
  std::function<Result<std::shared_ptr<const Checkpoint>>()> newest_checkpoint = {};

  std::chrono::milliseconds heartbeat{1000};
  std::chrono::milliseconds lost_after{3000};
  /// Without an answer to a command, and without any batch, block or step that a member has done.
  std::chrono::milliseconds step_deadline{600'000};
  /// After so long a run that is done or to stop says that it waits for its checkpoint.
  std::chrono::milliseconds quiet_wait{5000};
  std::uint32_t max_rollbacks = max_restarts_in_a_row;
  std::function<void(const std::string&)> say;  ///< a line on what was lost and done; may be empty
  TraceTrack trace = {};
};

/// Stops the run: its state is taken and written, then it ends with `cancelled`. While the run recovers
/// from a loss it is the state that all go back to.
struct StopRun {};

/// A process is lost, or there again with all its actors: handles are to be asked for anew.
struct ProcessesChanged {};

/// Starts the director, and with it the run. It sends one command at a time to all trainers or all
/// evaluators and waits for every answer.
/// | receives              | replies |
/// |-----------------------|---------|
/// | Ref<StopRun>          | none    |
/// | Ref<ProcessesChanged> | none    |
/// Peer loss: watches trainers and evaluators (monitors and signs of life). A lost or fenced one:
///   generation + 1, all supervisors regroup, all ranks go back to the last state; an evaluation begins
///   again. A lost process without a rank is waited for when it is needed. Ends with the cause when a
///   supervisor is lost or does not come back, after `max_rollbacks` in a row, and on any other error
caf::actor spawn_director(caf::actor_system& system, DirectorOptions options);

}  // namespace troupe
