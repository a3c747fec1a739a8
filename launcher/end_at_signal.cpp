#include "launcher/end_at_signal.hpp"

#include "launcher/commands.hpp"
#include "launcher/end_or_signal.hpp"
#include "runtime/base/staged_directory.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace troupe {
namespace {

/// Keeps other threads from saying what they make of their missing files. One that is printing, to a
/// pipe that nobody reads, is not waited for.
void hold(FILE* stream) {
  constexpr int tries = 100;
  for (int i = 0; i < tries && ftrylockfile(stream) != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
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
  hold(stdout);
  hold(stderr);
  static_cast<void>(std::fputs("troupe: interrupted\n", stderr));
  std::fflush(stdout);
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
