#pragma once
/// \file end_or_signal.hpp
/// Waiting for the end of a run or for a request to stop: SIGINT, SIGTERM, SIGHUP, or an output that nobody reads.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

namespace troupe {

/// SIGINT, SIGTERM and, but for a program that is to ignore it (nohup), SIGHUP: its terminal is gone.
inline sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
    sigaddset(&set, SIGHUP);
  }
  return set;
}

/// \tparam Outcome  how the run ended
/// Threads:  end() on any, the others on one
/// \requires the signals are blocked in all threads
template <class Outcome>
class EndOrSignal {
 public:
  EndOrSignal() : event_(eventfd(0, EFD_CLOEXEC)) {
    const auto set = stop_signals();
    signals_ = signalfd(-1, &set, SFD_CLOEXEC);
  }
  ~EndOrSignal() {
    close(event_);
    close(signals_);
  }
  EndOrSignal(const EndOrSignal&) = delete;
  EndOrSignal& operator=(const EndOrSignal&) = delete;

  /// The first counts.
  void end(Outcome result) {
    {
      const std::lock_guard guard(mutex_);
      if (result_) {
        return;
      }
      result_ = std::move(result);
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event_, &one, sizeof one);
  }
  /// The run's result, or nothing if a signal came first. A signal counts once.
  /// \param output  writing end of a pipe: that its reader is gone counts as a signal, unless one is there as
  ///   well, which Ctrl-C sends to a whole pipeline; -1: none
  std::optional<Outcome> wait(int output = -1) {
    pollfd ends[3] = {{event_, POLLIN, 0}, {signals_, POLLIN, 0}, {output, 0, 0}};
    while (poll(ends, 3, -1) < 0) {
    }
    reader_gone_ = (ends[0].revents | ends[1].revents) == 0;
    if ((ends[1].revents & POLLIN) != 0) {
      signalfd_siginfo taken{};
      [[maybe_unused]] const auto size = read(signals_, &taken, sizeof taken);
    }
    const std::lock_guard guard(mutex_);
    return result_;
  }
  /// Whether wait() ended because nobody reads the output.
  bool reader_gone() const { return reader_gone_; }
  /// After a signal: the end that was asked for; nothing at a second signal, or after the time.
  std::optional<Outcome> wait_stopped(std::chrono::milliseconds timeout) {
    pollfd ends[2] = {{event_, POLLIN, 0}, {signals_, POLLIN, 0}};
    constexpr auto longest = std::numeric_limits<int>::max();  // 24 days
    poll(ends, 2, static_cast<int>(std::min<std::int64_t>(timeout.count(), longest)));
    const std::lock_guard guard(mutex_);
    return result_;
  }

 private:
  int event_ = -1;
  int signals_ = -1;
  std::mutex mutex_;
  std::optional<Outcome> result_;
  bool reader_gone_ = false;
};

}  // namespace troupe
