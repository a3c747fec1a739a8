#pragma once
/// \file session_watch.hpp
/// Output of a run whose ranks run a user program: checkpoints, `metrics.jsonl`, `report.json`; in one
/// process and in several. The built-in trainer's is in run_command.cpp.
#include "launcher/cluster.hpp"
#include "launcher/exit_code.hpp"
#include "launcher/line_writer.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/rank_threads.hpp"
#include "launcher/report.hpp"
#include "launcher/run_checkpoints.hpp"
#include "runtime/job/job.hpp"
#include "runtime/run/checkpoint_origin.hpp"
#include "runtime/run/metrics_log.hpp"
#include "runtime/run/session_record.hpp"
#include "runtime/run/step_times.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct SessionWatchOptions {
  bool resume = false;     ///< Continue from the newest checkpoint
  bool overwrite = false;  ///< Another run was there
  std::string command;     ///< The command line
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();  ///< The start
};

/// Lifecycle: begin(); the other members while the ranks run; finish()
/// Threads:   all members from any thread
class SessionWatch {
 public:
  /// Finds the checkpoint of a resumed run, opens the log and writes its first line.
  /// \errors those of find_checkpoint(), dataset_digest(), MetricsLog and checkpoint_keeper()
  static Result<std::shared_ptr<SessionWatch>> begin(const Job& job,
                                                     const SessionWatchOptions& options,
                                                     const Say& print);

  /// Null: the run begins at the beginning.
  std::shared_ptr<const Checkpoint> resume() const { return resume_; }
  /// Writes a state of all ranks, with the record of the epochs that were over; blocks.
  /// \param checkpoint  without record and job
  Status keep(Checkpoint checkpoint);
  /// Ranks of real processes have lost one another: finds the newest checkpoint of this run, and drops
  /// what was recorded after it. \returns null: there is none, they begin at the beginning
  /// \errors those of find_checkpoint()
  Result<std::shared_ptr<const Checkpoint>> go_back();
  void epoch(const net::RankEpoch& epoch);
  void step(const StepReport& step);
  /// A line about a loss or what was done about it, to standard error and for the report.
  void note(const std::string& text);
  /// Notes wait for no reader from now on, as LineWriter::release() says.
  void release_output() { writer_.release(); }
  /// The ranks begin now.
  void start();
  /// As CheckpointKeeper has it.
  void cut_copying() const { keeper_.cut_copying(); }
  /// As interrupted_text().
  std::string interrupted();

  /// Writes the report and prints the outcome. A failure is printed if `print_failure`. The first call counts;
  /// later ones return its code.
  /// \param outcome  empty: the run was told to end at once
  ExitCode finish(const std::optional<SessionOutcome>& outcome, const Traffic& traffic,
                  bool print_failure);

 private:
  SessionWatch(const Job& job, CheckpointOrigin origin, std::shared_ptr<const Checkpoint> resume);
  void tell(const Status& written);
  void rewind(const MetricsPoint& to);

  const Job job_;
  const CheckpointOrigin origin_;
  const std::shared_ptr<const Checkpoint> resume_;
  CheckpointKeeper keeper_;
  LineWriter writer_;  ///< Of notes
  std::mutex mutex_;
  Report report_;
  std::chrono::steady_clock::time_point started_;  ///< The ranks
  std::optional<MetricsLog> metrics_;
  StepTimes step_times_;  ///< Of rank 0
  SessionRecord record_;
  bool overwrites_ = false;
  std::string last_checkpoint_;  ///< Its folder
  std::uint64_t told_step_;      ///< Last step of the run that rank 0 reported
  std::optional<ExitCode> finished_;
  bool went_back_ = false;  ///< Ranks went back, and rank 0 has reported no step since
};

}  // namespace troupe
