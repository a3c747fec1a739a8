#pragma once
/// \file sim_network.hpp
/// Simulated links between the hosts of a cluster in one process. Frames are cut into pieces, carried as bytes and put
/// together again, exactly as over a socket. Two drivers: real time on a thread of its own (`troupe run`), and a virtual
/// clock that a test steps (same seed, same run).
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime/net/link.hpp"

namespace troupe::net {

/// Where the simulated network gets its time from and runs its events.
class SimDriver {
 public:
  virtual ~SimDriver() = default;
  virtual Clock::time_point now() const = 0;
  /// Runs `f` at `t` or, if that is past, soon; events with equal time in the order of their `at` calls. Any thread.
  virtual void at(Clock::time_point t, std::function<void()> f) = 0;
};

/// One thread that runs events when their time has come. The destructor drops what is still queued, then joins.
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

/// A clock that stands still until stepped. Threads: one.
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

/// How a simulated link behaves. May be changed while it runs.
struct SimLinkOptions {
  Clock::duration latency{};    ///< one way
  double bytes_per_second = 0;  ///< 0: unlimited
  FrameLimits limits;
};

/// Makes two connected ends. `driver` must outlive both. Each direction has its own bandwidth.
std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> make_sim_link(SimDriver& driver,
                                                                     const SimLinkOptions& options);

}  // namespace troupe::net
