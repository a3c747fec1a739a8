#pragma once
/// \file stop_signals.hpp
/// SIGINT, SIGTERM and SIGHUP during a run, which reads them while they are pending and blocked in all threads.
/// Threads that were there before, such as those of NumPy's BLAS, do not block them, and Python's handler
/// would get them there. Nor do the ranks' threads, because the processes that they start inherit blocked signals
/// and would ignore a terminate().
#include <array>
#include <signal.h>

namespace troupe::python {

/// Lifecycle: from before the run until after it; then all is as before. One at a time
/// Threads:   the one that calls run_ranks
/// Guarantees: in a forked child all is as before at once
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Forgets those that wait: the run has ended by one.
  void drop_waiting();
  /// Unblocks the signals in a rank's thread; one that comes there is passed on to the run.
  void unblock_here() const;

 private:
  void put_back() const;

  sigset_t mask_{};
  std::array<struct sigaction, 3> actions_{};
};

}  // namespace troupe::python
