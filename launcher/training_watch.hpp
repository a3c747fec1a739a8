#pragma once
/// \file training_watch.hpp
/// What a run of trainers tells while it runs: lines of progress, `metrics.jsonl`, and what its report needs of them.
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
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Shared with the actors, which may outlive the wait by a moment.
/// Threads: epoch(), step(), infer() and note() on any; the others where `mutex` is held
struct TrainingWatch {
  EndOrSignal<Result<RunResult>> end;
  std::unique_ptr<Progress> progress;
  std::mutex mutex;
  std::optional<MetricsLog> metrics;
  std::vector<EpochRecord> epochs;    ///< so far, for the report of a run that did not end well
  std::vector<std::string> notes;     ///< losses and what was done about them
  std::string last_checkpoint;        ///< its folder
  std::vector<FileInfo> rows;         ///< files of learned rows that were written
  StepTimes step_times;               ///< of rank 0
  MetricsPoint told;                  ///< rank 0's steps and the epochs that the log has
  std::uint64_t log_every = 0;        ///< steps between their lines in the log; 0: none
  std::uint64_t steps_per_epoch = 0;  ///< of one rank

  /// An epoch is over. Steps and epochs come over different actors where ranks are processes, so the epoch is kept back until
  /// rank 0's last step of it is told.
  void epoch(const EpochRecord& record);
  void step(const StepReport& report);
  void infer(const InferenceReport& report);
  void note(const std::string& text);

  /// \param all  also epochs whose steps are not told
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
  /// Takes back what was told past a point, to which the ranks went back.
  void go_back(const MetricsPoint& to);
  void print(const std::string& text);
  /// A log that cannot be written does not end a run; it is told once.
  void tell(const Status& written);

  /// Epochs in order whose last step is not told, or not again after a roll-back.
  std::deque<Early> early_;
};

}  // namespace troupe
