#pragma once
/// \file emulated_schedule.hpp
/// Streams and events without a GPU. Work runs when the host waits for some of it, on the waiting
/// thread, in an order drawn from a seed among all orders that streams and events allow: what a
/// missing wait breaks, some seed shows.
#include "runtime/base/result.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

namespace troupe::gpu {

/// Happens once, when all work that was launched before it in its stream is done.
using EmulatedEvent = std::shared_ptr<const std::atomic<bool>>;

/// Threads: any; one of them runs work at a time
class EmulatedSchedule {
 public:
  using Work = std::function<void()>;

  /// \param left_out  the wait of this number, in the order of the calls, is ignored: for tests of
  ///   whether it is needed
  explicit EmulatedSchedule(std::uint64_t seed, std::optional<std::uint64_t> left_out = {});

  std::size_t add_stream();
  void launch(std::size_t stream, Work work);
  EmulatedEvent record(std::size_t stream);
  /// What is launched in `stream` from now on runs after the event.
  void wait(std::size_t stream, EmulatedEvent event);
  /// The same for an event that work elsewhere brings about: of another device, say. Until it happens the
  /// stream stands still: run_until() waits two seconds for it, then ends with an error.
  void wait_for_peer(std::size_t stream, EmulatedEvent event);
  std::uint64_t waits() const { return waits_; }

  /// Runs work until the event has happened.
  /// \errors internal: it never will: streams wait for each other
  Status run_until(const EmulatedEvent& event);
  /// Runs all work but what waits for a peer. \errors as run_until()
  Status run_all();
  /// Runs one piece of work. \returns none can run
  bool run_one();
  /// Number of pieces that have run.
  std::uint64_t ran() const { return ran_; }

 private:
  struct Entry {
    Work work;            ///< none: a wait
    EmulatedEvent event;  ///< of a wait
    bool of_peer = false;
  };

  /// \returns false: no entry can run
  bool step();
  bool idle();
  bool waits_for_peer();
  void add_wait(std::size_t stream, Entry entry);

  std::mutex running_;  ///< held while work runs
  std::mutex mutex_;    ///< of the queues; not held while work runs
  std::deque<std::deque<Entry>> streams_;
  std::mt19937_64 random_;
  std::optional<std::uint64_t> left_out_;
  std::uint64_t waits_ = 0;
  std::atomic<std::uint64_t> ran_ = 0;
};

}  // namespace troupe::gpu
