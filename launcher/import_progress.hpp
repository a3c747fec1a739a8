#pragma once
/// \file import_progress.hpp
/// The live line of an import: stage, how much, rate, time left.
#include "runtime/data/stream_store.hpp"

#include <chrono>
#include <string>

namespace troupe {

/// "reading edges: 41 % of 1.23e+08 edges, 1.2e+07/s, 6 s left", after so many seconds of a stage.
std::string import_line(const ImportProgress& progress, double seconds);

/// Lifecycle: the destructor takes the line away
/// Threads:   one at a time
class ImportProgressLine {
 public:
  ~ImportProgressLine();
  /// Prints at most ten times a second, to standard error.
  void show(const ImportProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  std::string stage_;
  Clock::time_point stage_began_{};
  Clock::time_point printed_{};
  bool any_ = false;
};

}  // namespace troupe
