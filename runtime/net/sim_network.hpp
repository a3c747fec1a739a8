#pragma once
/// \file sim_network.hpp
/// Simulated links between the hosts of a cluster in one process. Frames are cut into pieces,
/// carried as bytes and put together again, exactly as over a socket. Two drivers: real time on a
/// thread of its own (`troupe run`), and a virtual clock that a test steps (same seed, same run).
#include "runtime/net/link.hpp"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>

namespace troupe::net {

/// Where the simulated network gets its time from and runs its events.
class SimDriver : public Timers {};

/// One thread that runs events when their time has come. The destructor drops what is still queued,
/// then joins.
class RealTimeDriver final : public SimDriver {
 public:
  RealTimeDriver();
  ~RealTimeDriver() override;
  Clock::time_point now() const override { return Clock::now(); }
  void at(Clock::time_point t, std::function<void()> f) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A clock that stands still until stepped.
/// Threads: one.
class VirtualDriver final : public SimDriver {
 public:
  Clock::time_point now() const override { return now_; }
  void at(Clock::time_point t, std::function<void()> f) override;
  /// Time of the next event, or time_point::max().
  Clock::time_point next_event() const;
  /// Moves the clock to `t` and runs what is due, in order.
  void run_until(Clock::time_point t);

 private:
  Clock::time_point now_{std::chrono::hours(1)};  // away from zero: CAF's timers misbehave there
  std::uint64_t sequence_ = 0;
  std::map<std::pair<Clock::time_point, std::uint64_t>, std::function<void()>> events_;
};

/// How a simulated link behaves.
struct SimLinkOptions {
  Clock::duration latency{};    ///< one way
  double bytes_per_second = 0;  ///< 0: unlimited
  /// Bytes per direction that have begun to leave and that the sender does not know to be taken:
  /// the buffers of both ends and the wire. Full: the sender waits. 0: unlimited.
  std::size_t buffer_bytes = 0;
  FrameLimits limits{};
  /// For tests of faults: may change the bytes of each block on the wire; `to` is the receiving
  /// end, 0 or 1. Called by the driver. Empty: none are changed.
  std::function<void(int to, std::span<std::byte> block)> tamper{};
};

/// Makes two connected ends, 0 and 1. `driver` must outlive both. Each direction has its own
/// bandwidth: a piece of n bytes (with its header) takes n / bytes_per_second to leave, then
/// `latency` to arrive; the next one starts when it has left. With `buffer_bytes` a piece leaves in
/// parts as there is room; that the receiver took one is known to the sender `latency` later.
/// Guarantees: the first close() wins; on_down(its reason) comes at both ends `latency` later. What
///   had left before arrives, what had not is dropped. An end not started yet keeps what arrives
std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> make_sim_link(
    SimDriver& driver, const SimLinkOptions& options);

}  // namespace troupe::net
