#include "gpu/base/emulated_schedule.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace troupe::gpu {

EmulatedSchedule::EmulatedSchedule(std::uint64_t seed, std::optional<std::uint64_t> left_out)
    : random_(seed), left_out_(left_out) {}

std::size_t EmulatedSchedule::add_stream() {
  const std::lock_guard lock(mutex_);
  streams_.emplace_back();
  return streams_.size() - 1;
}

void EmulatedSchedule::launch(std::size_t stream, Work work) {
  const std::lock_guard lock(mutex_);
  streams_[stream].push_back({std::move(work), {}});
}

EmulatedEvent EmulatedSchedule::record(std::size_t stream) {
  auto event = std::make_shared<std::atomic<bool>>(false);
  launch(stream, [event] { *event = true; });
  return event;
}

void EmulatedSchedule::wait(std::size_t stream, EmulatedEvent event) {
  add_wait(stream, {{}, std::move(event)});
}

void EmulatedSchedule::wait_for_peer(std::size_t stream, EmulatedEvent event) {
  add_wait(stream, {{}, std::move(event), true});
}

void EmulatedSchedule::add_wait(std::size_t stream, Entry entry) {
  const std::lock_guard lock(mutex_);
  if (waits_++ != left_out_) {
    streams_[stream].push_back(std::move(entry));
  }
}

bool EmulatedSchedule::step() {
  Work work;
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::deque<Entry>*> able;
    for (auto& stream : streams_) {
      if (!stream.empty() && (stream.front().work || *stream.front().event)) {
        able.push_back(&stream);
      }
    }
    if (able.empty()) {
      return false;
    }
    auto& chosen = *able[random_() % able.size()];
    work = std::move(chosen.front().work);
    chosen.pop_front();
  }
  if (work) {
    work();
  }
  ++ran_;
  return true;
}

bool EmulatedSchedule::idle() {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(streams_, [](const auto& stream) {
    return stream.empty() || (stream.front().of_peer && !*stream.front().event);
  });
}

bool EmulatedSchedule::waits_for_peer() {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(streams_, [](const auto& stream) {
    return !stream.empty() && stream.front().of_peer && !*stream.front().event;
  });
}

namespace {

using SteadyClock = std::chrono::steady_clock;

/// A GPU waits for its peers without an end; a rank that loses one aborts its communicator long before this.
constexpr auto longest_wait_for_peer = std::chrono::seconds(2);

Error nothing_can_run() {
  return {Errc::internal,
          "the emulated device's streams wait for each other: expected an event of each wait to be "
          "recorded before it"};
}

}  // namespace

Status EmulatedSchedule::run_until(const EmulatedEvent& event) {
  constexpr auto between_looks = std::chrono::microseconds(50);
  std::unique_lock running(running_);
  auto give_up = SteadyClock::now() + longest_wait_for_peer;
  while (!*event) {
    // Asked before the step: a peer that is ready in between is found by the next one.
    const bool at_peer = waits_for_peer();
    if (step()) {
      give_up = SteadyClock::now() + longest_wait_for_peer;
    } else if (at_peer && SteadyClock::now() < give_up) {
      running.unlock();  // what the peer waits for may be work of this device
      std::this_thread::sleep_for(between_looks);
      running.lock();
    } else {
      return nothing_can_run();
    }
  }
  return ok_status();
}

bool EmulatedSchedule::run_one() {
  const std::lock_guard running(running_);
  return step();
}

Status EmulatedSchedule::run_all() {
  const std::lock_guard running(running_);
  do {
    while (step()) {
    }
    if (idle()) {
      return ok_status();
    }
  } while (step());  // a peer may have been ready in between
  return nothing_can_run();
}

}  // namespace troupe::gpu
