#pragma once
/// \file training_watch.hpp
/// Progress of a run of trainers: printed lines, `metrics.jsonl`, and the epochs and notes of its report.
#include "launcher/director_options.hpp"
#include "launcher/end_or_signal.hpp"
#include "launcher/progress.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/run/inference_progress.hpp"
#include "runtime/run/metrics_log.hpp"
#include "runtime/run/run_record.hpp"
#include "runtime/run/step_report.hpp"
#include "runtime/run/step_times.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Folder of the newest checkpoint. With a lock of its own: TrainingWatch::mutex may be held by a thread that
/// prints, for as long as nobody reads.
/// Threads: all members from any thread
class LastCheckpoint {
 public:
  void set(const std::string& folder) {
    const std::lock_guard guard(mutex_);
    folder_ = folder;
  }
  std::string get() const {
    const std::lock_guard guard(mutex_);
    return folder_;
  }

 private:
  mutable std::mutex mutex_;
  std::string folder_;
};

/// Shared with the actors, which may outlive the wait by a moment.
/// Threads: epoch(), step(), infer() and note() on any; the others where `mutex` is held
struct TrainingWatch {
  EndOrSignal<Result<RunResult>> end;
  std::unique_ptr<Progress> progress;
  std::mutex mutex;
  std::optional<MetricsLog> metrics;
  std::vector<EpochRecord> epochs;  ///< so far, for the report of a run that did not end well
  std::vector<std::string> notes;   ///< losses and what was done about them
  LastCheckpoint last_checkpoint;   ///< empty: there is none
  bool overwrites = false;          ///< started with --overwrite
  std::function<void()> cut_copying = [] {};  ///< as CheckpointKeeper has it
  std::vector<FileInfo> rows;                 ///< files of learned rows that were written
  std::string learned_nodes;                  ///< numbered_nodes() where rows are learned
  StepTimes step_times;                       ///< of rank 0
  MetricsPoint logged;  ///< rank 0's steps and the epochs so far, of the log where there is one
  std::uint64_t log_every = 0;        ///< steps between their lines in the log; 0: none
  std::uint64_t steps_per_epoch = 0;  ///< of one rank

  /// An epoch is over. Steps and epochs come over different actors where ranks are processes, so the epoch is kept back until
  /// rank 0's last step of it has arrived.
  void epoch(const EpochRecord& record);
  void step(const StepReport& report);
  void infer(const InferenceReport& report);
  void note(const std::string& text);

  /// Prints and logs epochs whose last step has arrived. \param all  the others, too
  void add_epochs(bool all = false);
  /// Scores of the last evaluation.
  void scores(const RunRecord& record);

 private:
  struct Early {
    EpochRecord record;
    bool printed = false;
  };
  void add(const Early& epoch);
  void write(const EpochRecord& record);
  /// Removes steps and epochs past a point that the ranks returned to.
  void go_back(const MetricsPoint& to);
  void print(const std::string& text);
  /// A log that cannot be written does not end a run; its error is printed once.
  void tell(const Status& written);

  /// Epochs in order whose last step has not arrived, or not again after a roll-back.
  std::deque<Early> early_;
};

}  // namespace troupe
