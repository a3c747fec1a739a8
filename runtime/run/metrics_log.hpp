#pragma once
/// \file metrics_log.hpp
/// `metrics.jsonl`: what happened in a run, one JSON object a line (docs/outputs.md).
#include "runtime/base/result.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/run_record.hpp"
#include "runtime/run/step_report.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Up to where a log tells of the run that goes on. The default is before the first step.
struct MetricsPoint {
  std::uint64_t global_step = 0;  ///< steps of the run that are done
  std::uint32_t epochs = 0;       ///< epochs that are over, with their evaluation
};
/// The point at which a run continues from a checkpoint.
MetricsPoint metrics_point(const Checkpoint& checkpoint);

/// One evaluation.
struct EvalMetrics {
  std::uint32_t epoch = 0;  ///< from 0, whose parameters were used
  bool last = false;        ///< after the last epoch, with the best one's parameters
  std::string role;         ///< "valid", "test"
  double seconds = 0;
  Scores scores = {};
};

/// What a run is, known when it starts.
struct RunStart {
  std::string start;               ///< ISO 8601, UTC, of the first start
  std::string command;             ///< as a shell reads it
  std::string build;               ///< version, compiler and build type of the program
  std::vector<std::string> hosts;  ///< names
};
/// What is known when it ends.
struct RunSummary {
  std::string status;  ///< as in the report
  double seconds = 0;  ///< since the last start
  std::optional<double> seconds_per_step;
};

/// Appends lines; each is written through to the system at once, whole or, when the disk is full, not
/// at all.
/// Threads: one at a time; blocks on the disk
class MetricsLog {
 public:
  /// Opens `file`, makes it if it is missing, and cuts off what lies past `from`: a run that goes on
  /// from a checkpoint writes those lines again, so the file is that of an undisturbed run, except
  /// for times.
  /// \errors failed_precondition, not_found: the disk
  static Result<MetricsLog> open(const std::filesystem::path& file, const MetricsPoint& from = {});
  ~MetricsLog();
  MetricsLog(MetricsLog&& other) noexcept;
  MetricsLog& operator=(MetricsLog&&) = delete;

  /// Nothing is written where the run goes on from a checkpoint: the file has its first start.
  Status start(const RunStart& run);
  Status end(const RunSummary& run);
  Status step(const StepReport& report);
  Status epoch(const EpochRecord& record);
  Status eval(const EvalMetrics& eval);

  /// Cuts off what lies past `to`, after a roll-back.
  Status rewind(const MetricsPoint& to);

 private:
  MetricsLog(std::filesystem::path file, int fd) : file_(std::move(file)), fd_(fd) {}
  Status append(const std::string& line);

  std::filesystem::path file_;
  int fd_;  ///< -1 once moved from
};

}  // namespace troupe
