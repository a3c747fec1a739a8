#pragma once
/// \file progress.hpp
/// What a run prints while it runs: a line per epoch, and on a terminal a live line in between.
#include "launcher/line_writer.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/run/inference_progress.hpp"
#include "runtime/run/run_record.hpp"
#include "runtime/run/step_report.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace troupe {

/// Back to the begin of a terminal's line, which is emptied.
inline constexpr const char* clear_line = "\r\033[K";

enum class LogFormat : std::uint8_t { text, json };

/// "0.7620", or "-" where the data define no score.
std::string score_text(const std::optional<double>& score);

/// One epoch as a line of text, without the line's end, e.g.
/// "epoch  3/30  loss 1.2345  valid accuracy 0.7620 *  412 seeds/s  …".
std::string epoch_line(const EpochRecord& epoch, std::uint32_t epochs, const std::string& metric);
/// The same as one line of JSON.
std::string epoch_json_line(const EpochRecord& epoch, std::uint32_t epochs);

/// A step as a line of text, e.g. "epoch  3/30  step  120/193  loss 1.2345  0.231 s/iteration".
std::string step_line(const StepReport& step, std::uint32_t epochs, double seconds_per_step);

/// Exact inference as a line of text, e.g. "inferring layer 2/3   45 %  12 s left".
std::string inference_line(const InferenceProgress::State& state);
/// The same as one line of JSON.
std::string inference_json_line(const InferenceProgress::State& state);

/// Threads:   all members from any thread; none waits for the reader of a line, as LineWriter says
/// Lifecycle: the live line, if any, has a thread that the destructor ends
class Progress {
 public:
  struct Options {
    LogFormat format = LogFormat::text;
    bool terminal = false;  ///< standard output is one
    std::uint32_t epochs = 0;
    std::uint64_t steps_per_epoch = 0;  ///< of all ranks together
    std::string metric;
    std::uint64_t log_every = 0;  ///< a line after every so many steps; 0: none
  };
  explicit Progress(Options options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step(const StepReport& report);
  /// A line that is no result, such as a loss and what was done about it; to standard error.
  void note(const std::string& text);
  void epoch(const EpochRecord& record);
  /// A block of exact inference is done. Inference that lasts two seconds is shown: on a terminal by the
  /// live line, else by a line at once and then every ten seconds.
  void infer(const InferenceReport& report);
  /// Lines after those of the run: its outcome. Complete, with the ends of lines.
  void outcome(const std::string& lines);
  /// The same on standard error.
  void error(const std::string& lines);
  LineWriter& writer() { return writer_; }

 private:
  void print_live(const std::stop_token& stop);
  std::string live_text();
  void print_line(const std::string& line);

  const Options options_;
  LineWriter writer_;
  std::atomic<std::uint64_t> steps_{0};
  std::mutex mutex_;  ///< Of what follows
  std::uint32_t epochs_done_ = 0;
  double seconds_ = 0;         ///< of rank 0's steps since the last line
  std::uint64_t counted_ = 0;  ///< these steps
  InferenceProgress inference_;
  double inference_shown_ = 0;  ///< Time of its last line; 0: it has none yet
  std::jthread live_;
};

}  // namespace troupe
