#include "runtime/net/sim_network.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace troupe::net {

struct RealTimeDriver::State {
  using Key = std::pair<Clock::time_point, std::uint64_t>;

  std::mutex mutex;
  std::condition_variable wake;
  std::map<Key, std::function<void()>> events;
  std::uint64_t sequence = 0;
  bool stop = false;
  std::thread thread;

  void run() {
    std::unique_lock guard(mutex);
    while (!stop) {
      if (events.empty()) {
        wake.wait(guard);
        continue;
      }
      const auto first = events.begin()->first.first;
      if (first > Clock::now()) {
        wake.wait_until(guard, first);
        continue;
      }
      auto event = events.extract(events.begin());
      guard.unlock();
      event.mapped()();
      event = {};  // what it holds is let go without the lock
      guard.lock();
    }
  }
};

RealTimeDriver::RealTimeDriver() : state_(std::make_unique<State>()) {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

RealTimeDriver::~RealTimeDriver() {
  std::map<State::Key, std::function<void()>> dropped;
  {
    const std::lock_guard guard(state_->mutex);
    state_->stop = true;
    dropped.swap(state_->events);
  }
  state_->wake.notify_one();
  state_->thread.join();
}

void RealTimeDriver::at(Clock::time_point t, std::function<void()> f) {
  bool earliest = false;
  {
    const std::lock_guard guard(state_->mutex);
    if (state_->stop) {
      return;
    }
    const auto place =
        state_->events.emplace(State::Key(t, state_->sequence++), std::move(f)).first;
    earliest = place == state_->events.begin();
  }
  if (earliest) {
    state_->wake.notify_one();
  }
}

void VirtualDriver::at(Clock::time_point t, std::function<void()> f) {
  events_.emplace(std::pair(std::max(t, now_), sequence_++), std::move(f));
}

Clock::time_point VirtualDriver::next_event() const {
  return events_.empty() ? Clock::time_point::max() : events_.begin()->first.first;
}

void VirtualDriver::run_until(Clock::time_point t) {
  while (next_event() <= t && !events_.empty()) {
    auto event = events_.extract(events_.begin());
    now_ = event.key().first;
    event.mapped()();
  }
  now_ = std::max(now_, t);
}

}  // namespace troupe::net
