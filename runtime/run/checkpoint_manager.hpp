#pragma once
/// \file checkpoint_manager.hpp
/// States of training: when one is requested, which one a roll-back goes to, and which are written as
/// checkpoints. Only decides; actors/director does it, runtime/run/checkpoint writes.
#include "runtime/base/result.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/run_record.hpp"
#include "runtime/wire/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace troupe {

/// When a state is written; one is also when the run is stopped.
struct CheckpointSchedule {
  std::uint32_t epochs = 0;  ///< 0: not by epochs
  std::uint64_t steps = 0;   ///< 0: not by steps
  double seconds = 0;        ///< 0: not by time
};

struct CheckpointManagerOptions {
  std::shared_ptr<const Checkpoint> start;  ///< State that the run begins with
  CheckpointSchedule schedule;
  bool write = true;  ///< false: states are held in memory only
};

/// Holds the state that a roll-back goes to, and decides when ranks are asked for a newer one: before
/// and after the evaluation between two epochs, at scheduled steps and times, and to stop the run. A
/// due state is written, one at a time; of those that become due meanwhile only the newest.
/// Lifecycle: restored() when the ranks stand at last(), then between_commands() before each command,
///   finish() after the last; the other inputs at any time, until the action End or Finish
/// Threads:   one at a time
class CheckpointManager {
 public:
  // ---- actions ----
  /// To rank 0: all ranks have the same state. Answered by taken() or not_taken().
  struct TakeState {
    net::TakeState request;
    bool to_write = false;  ///< It is written whatever the schedule says
    /// Epochs that were over when the state was requested. The state may not have the best parameters
    /// of later ones yet, whatever the record says when it arrives.
    std::size_t epochs_over = 0;
  };
  /// Answered by written().
  struct Write {
    std::shared_ptr<const Checkpoint> checkpoint;
  };
  struct NewState {};  ///< last() is past the one before
  struct End {
    Error why;
  };
  struct Finish {};  ///< The run is over, and all that was due is written
  using Action = std::variant<TakeState, Write, NewState, End, Finish>;
  using Actions = std::vector<Action>;

  explicit CheckpointManager(CheckpointManagerOptions options);

  /// Where a roll-back goes.
  const std::shared_ptr<const Checkpoint>& last();
  /// What is being written. Null: nothing
  const std::shared_ptr<const Checkpoint>& written_now() const { return written_now_; }

  // ---- events; `record` is that of the run as it is now ----
  /// A generation begins: answers to earlier requests are dropped. A run that is to stop does so with
  /// last(), unless the state that it stops with is kept already.
  Actions roll_back(std::uint32_t generation);
  Actions restored(const RunRecord& record);
  Actions between_commands(const RunRecord& record);
  /// The time of a checkpoint by seconds has come.
  Actions time_passed(const RunRecord& record);
  /// The run is to stop with its state as it is now, or with last() while it recovers.
  Actions stop(const RunRecord& record);
  Actions taken(const TakeState& what, const std::shared_ptr<const TrainingState>& state,
                const RunRecord& record);
  /// The rank is lost, or has gone back. A run that is to stop then does so with last().
  Actions not_taken();
  Actions written();
  /// All commands are carried out. Finish follows once nothing is left to be written, unless a roll-back comes first or
  /// the state that a stop requested is kept: then End follows.
  Actions finish();
  /// What last() needs is lost; it becomes `to`, or the start of the run if that is null.
  void fall_back(std::shared_ptr<const Checkpoint> to);

 private:
  std::uint64_t oldest_needed() const;
  TakeState request_now(const RunRecord& record, bool to_write) const;
  void request_next_step(std::uint64_t after, const RunRecord& record, Actions& actions) const;
  struct Taken {
    std::shared_ptr<const TrainingState> state;
    bool to_write = false;
    std::size_t epochs_over = 0;
  };
  void keep(const Taken& taken, const RunRecord& record, Actions& actions);
  void keep_epochs(const Taken& taken, const RunRecord& record);
  bool is_due(const Taken& taken) const;
  void write_next(Actions& actions);
  Actions stop_with_last();
  void end_if_done(Actions& actions);

  CheckpointManagerOptions options_;
  std::uint32_t generation_ = 0;
  bool recovering_ = true;  ///< Until the ranks stand at last()
  std::shared_ptr<const Checkpoint> last_;
  std::vector<EpochRecord> epochs_;  ///< Those of the record of last()
  /// Last_ while its record lacks the epochs, which it gets before others see it: a run of many short
  /// epochs has new states in each, and would copy all epochs for every one.
  Checkpoint* lacks_epochs_ = nullptr;
  std::shared_ptr<const TrainingState> early_;  ///< State whose epoch is not in the record yet
  std::uint64_t stage_ = 0;  ///< Between which epochs the last state was requested, and whether
                             ///< after their evaluation
  std::shared_ptr<const Checkpoint> to_write_;
  std::shared_ptr<const Checkpoint> written_now_;  ///< with `writing_`
  bool writing_ = false;
  bool stopping_ = false;
  bool stop_kept_ = false;  ///< The state that the run stops with is kept, or there is none
  bool finishing_ = false;
  bool over_ = false;
};

}  // namespace troupe
