#include "launcher/end_at_signal.hpp"

#include "launcher/commands.hpp"
#include "launcher/end_or_signal.hpp"
#include "launcher/standard_streams.hpp"
#include "runtime/base/staged_directory.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace troupe {
namespace {

/// Keeps other threads from saying what they make of their missing files.
/// \returns false: one is printing, to a pipe that nobody reads, and is not waited for
bool hold(FILE* stream) {
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    if (ftrylockfile(stream) == 0) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// Waits for a signal, or for the end of the wait.
void end_at_signal(int signals, int over) {
  pollfd ends[2] = {{signals, POLLIN, 0}, {over, POLLIN, 0}};
  while (poll(ends, 2, -1) < 0) {
  }
  if ((ends[0].revents & POLLIN) == 0) {
    return;
  }
  signalfd_siginfo taken{};
  [[maybe_unused]] const auto size = read(signals, &taken, sizeof taken);
  unblock_stop_signals();  // the next one ends it whatever it waits for
  const bool holds_output = hold(stdout);
  hold(stderr);
  print_if_taken("troupe: interrupted");
  if (holds_output) {
    std::fflush(stdout);
  }
  remove_staged_directories();
  std::_Exit(static_cast<int>(ExitCode::interrupted));
}

}  // namespace

EndAtSignal::EndAtSignal() : over_(eventfd(0, EFD_CLOEXEC)) {
  const auto set = stop_signals();
  signals_ = signalfd(-1, &set, SFD_CLOEXEC);
  thread_ = std::thread(end_at_signal, signals_, over_);
}

EndAtSignal::~EndAtSignal() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(over_, &one, sizeof one);
  thread_.join();
  close(signals_);
  close(over_);
}

}  // namespace troupe
