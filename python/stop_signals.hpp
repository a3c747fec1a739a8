#pragma once
/// \file stop_signals.hpp
/// SIGINT and SIGTERM while a run goes on. The run takes them from where they wait, blocked in all threads.
/// Threads that were there before, such as those of NumPy's BLAS, do not block them, and Python's handler
/// would get them there.
#include <array>
#include <signal.h>

namespace troupe::python {

/// Lifecycle: from before the run until after it; then all is as before
/// Threads:   the one that calls run_ranks
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Forgets those that wait: the run has ended by one.
  void drop_waiting();

 private:
  sigset_t mask_{};
  std::array<struct sigaction, 2> actions_{};
};

}  // namespace troupe::python
