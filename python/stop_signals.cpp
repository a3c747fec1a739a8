#include "python/stop_signals.hpp"

#include <atomic>
#include <ctime>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

namespace troupe::python {
namespace {

constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};

/// Whether the process is to ignore it, as SIGHUP under nohup.
bool is_unwanted(int signal) {
  struct sigaction now {};
  return signal == SIGHUP && sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const auto signal : signals) {
    if (!is_unwanted(signal)) {
      sigaddset(&set, signal);
    }
  }
  return set;
}

/// In a thread that does not block the signal: from now on it does, and the signal is sent again.
void pass_on(int signal, siginfo_t* /*info*/, void* context) {
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  kill(getpid(), signal);
}

/// Signals of the run in this process; a handler of forks takes no argument.
std::atomic<const StopSignals*> under_way{nullptr};

}  // namespace

StopSignals::StopSignals() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    if (const auto* run = under_way.exchange(nullptr)) {
      run->put_back();
    }
  });
  static_cast<void>(registered);
  const auto set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, &mask_);
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  action.sa_mask = set;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const bool taken = sigismember(&set, signals[i]) == 1;
    sigaction(signals[i], taken ? &action : nullptr, &actions_[i]);
  }
  under_way = this;
}

StopSignals::~StopSignals() {
  under_way = nullptr;
  put_back();
}

void StopSignals::put_back() const {
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], &actions_[i], nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

void StopSignals::unblock_here() const {
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

void StopSignals::drop_waiting() {
  const auto set = stop_set();
  const timespec now{};
  while (sigtimedwait(&set, nullptr, &now) > 0) {
  }
}

}  // namespace troupe::python
