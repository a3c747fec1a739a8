#pragma once
/// \file metrics_log.hpp
/// `metrics.jsonl`: what happened in a run, one JSON object a line (docs/outputs.md).
#include "runtime/base/result.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/run_record.hpp"
#include "runtime/run/step_report.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

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
