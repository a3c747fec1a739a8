#pragma once
/// \file failure_streak.hpp
/// Lines about a task that a run repeats and that fails each time.
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

namespace troupe {

/// Failures in a row, of which the first, second, fourth, eighth and so on are printed: a disk that stays full for a
/// thousand checkpoints has ten lines.
/// Threads: one at a time
class FailureStreak {
 public:
  /// Counts a failure. \returns text for its line: "", " (2 in a row)", " (3 in a row)"
  std::string add() {
    ++in_a_row_;
    return in_a_row_ == 1 ? "" : " (" + std::to_string(in_a_row_) + " in a row)";
  }
  /// Whether the failure that was counted last is printed.
  bool due() const { return std::has_single_bit(in_a_row_); }
  /// Its line. \returns what is to be printed; empty: nothing
  std::string take(std::string line) {
    if (due()) {
      held_back_.clear();
      return line;
    }
    held_back_ = std::move(line);
    return {};
  }
  /// The line of the last failure, if it was not printed.
  std::string take_held_back() { return std::exchange(held_back_, {}); }
  /// A success. \returns failures before it
  std::uint64_t end() {
    held_back_.clear();
    return std::exchange(in_a_row_, 0);
  }

 private:
  std::uint64_t in_a_row_ = 0;
  std::string held_back_;
};

}  // namespace troupe
