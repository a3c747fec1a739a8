#pragma once
/// \file end_at_signal.hpp
/// SIGINT, SIGTERM and SIGHUP where there is nothing to finish first; for runs see end_or_signal.hpp.
#include <thread>

namespace troupe {

/// While it lives, stop_signals() end the process at once with ExitCode::interrupted; directories
/// under construction are removed.
/// \requires the signals are blocked in all threads, and stay so
class EndAtSignal {
 public:
  EndAtSignal();
  ~EndAtSignal();
  EndAtSignal(const EndAtSignal&) = delete;
  EndAtSignal& operator=(const EndAtSignal&) = delete;

 private:
  int signals_ = -1;
  int over_ = -1;
  std::thread thread_;
};

}  // namespace troupe
