#pragma once
/// \file watched_run.hpp
/// The program as it runs: every line with the time when it was printed, its processes, its end.
#include "tests/support/process.hpp"
#include "tests/support/run_processes.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe::testing {

using TestClock = std::chrono::steady_clock;

struct PrintedLine {
  TestClock::time_point at;  ///< when it was read, within milliseconds
  std::string text;
  bool error = false;
};

/// Lifecycle: starts in the constructor; what still runs at the end of the test is killed, and nothing else.
/// Threads:    one
class WatchedRun {
 public:
  /// \param arguments  the program first
  /// \param mark       of all its processes; those on other hosts must be given it
  WatchedRun(std::vector<std::string> arguments, std::string folder,
             std::string mark = new_run_mark());
  ~WatchedRun();
  WatchedRun(const WatchedRun&) = delete;
  WatchedRun& operator=(const WatchedRun&) = delete;

  /// Reads on until `done()`; false if the program ends before, or after `timeout`.
  bool wait_until(const std::function<bool()>& done, std::chrono::milliseconds timeout);
  /// The first line with `text` from `from` on, printed by now.
  std::optional<PrintedLine> find(const std::string& text, TestClock::time_point from = {}) const;
  /// What follows the first `text` that was printed, up to the next space.
  /// \requires it was printed
  std::string word_after(const std::string& text) const;
  bool wait_for_line(const std::string& text, std::chrono::milliseconds timeout);
  /// Waits for the end. \returns nothing if it still runs after `timeout`
  std::optional<int> wait_for_end(std::chrono::milliseconds timeout);
  /// Waits until none of its processes is left. \returns those that are after `timeout`
  std::vector<RunProcess> wait_for_all(std::chrono::milliseconds timeout);

  const std::string& mark() const { return mark_; }
  pid_t pid() const { return process_.pid(); }
  const std::vector<PrintedLine>& lines() const { return lines_; }
  TestClock::time_point ended() const { return ended_; }
  /// All that was printed, without lines of progress.
  std::string text() const;

 private:
  struct Tail {
    std::string file;
    bool error = false;
    std::size_t read = 0;
    std::string rest;
  };
  void read_lines();

  std::string mark_;
  Process process_;
  std::vector<Tail> tails_;
  std::vector<PrintedLine> lines_;
  std::optional<int> exit_code_;
  TestClock::time_point ended_;
};

}  // namespace troupe::testing
