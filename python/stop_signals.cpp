#include "python/stop_signals.hpp"

#include <ctime>
#include <ucontext.h>
#include <unistd.h>

namespace troupe::python {
namespace {

constexpr std::array signals{SIGINT, SIGTERM};

sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const auto signal : signals) {
    sigaddset(&set, signal);
  }
  return set;
}

/// In a thread that does not block the signal: from now on it does, and the signal is sent again.
void pass_on(int signal, siginfo_t* /*info*/, void* context) {
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  kill(getpid(), signal);
}

}  // namespace

StopSignals::StopSignals() {
  const auto set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, &mask_);
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  action.sa_mask = set;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], &action, &actions_[i]);
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], &actions_[i], nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

void StopSignals::drop_waiting() {
  const auto set = stop_set();
  const timespec now{};
  while (sigtimedwait(&set, nullptr, &now) > 0) {
  }
}

}  // namespace troupe::python
