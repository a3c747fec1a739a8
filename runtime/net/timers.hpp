#pragma once
/// \file timers.hpp
/// Time and timers that do not depend on a link being up. The drivers of simulated links are such a
/// source; links over sockets bring theirs.
#include <chrono>
#include <functional>

namespace troupe::net {

using Clock = std::chrono::steady_clock;

inline double seconds_of(Clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

/// Threads: all members from any thread, also under a lock of the caller.
class Timers {
 public:
  virtual ~Timers() = default;
  virtual Clock::time_point now() const = 0;  ///< virtual in a simulation
  /// Runs `f` at `t` or, if that is past, soon; one event at a time, those with equal time in the
  /// order of their `at` calls; never on the caller's stack.
  virtual void at(Clock::time_point t, std::function<void()> f) = 0;
};

}  // namespace troupe::net
