#pragma once
/// \file reconnect.hpp
/// Makes a new link for an interrupted endpoint, on the side that dials. The side that accepts needs
/// none: it gives what arrives to Endpoint::attach.
#include "runtime/net/endpoint.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace troupe::net {

/// Makes connections to one peer.
class Dialer {
 public:
  virtual ~Dialer() = default;
  /// Tries once. `done` is called once, with a link that was not started or why there is none;
  /// never on the caller's stack, and within a time that the dialer bounds. An error of
  /// is_final_refusal() ends the attempts.
  virtual void dial(std::function<void(Result<std::shared_ptr<Link>>)> done) = 0;
};

struct ReconnectOptions {
  Clock::duration first = std::chrono::milliseconds(10);  ///< pause after the first failure
  Clock::duration longest = std::chrono::seconds(1);      ///< pauses double up to this
  /// Pauses are shortened by up to this share, 0..1, so that many ends that lost one peer do not
  /// come back all at once. Drawn by Philox from `seed` and the number of the attempt.
  double jitter = 0;
  std::uint64_t seed = 0;
};

/// Dials with growing pauses until the endpoint has a link, its recovery deadline is over, or it is
/// closed. The first attempt comes at once, unless the last link lived for less than `longest`: then
/// pauses go on growing where they were.
/// Lifecycle:  one per endpoint, in EndpointOptions::source. `timers` must outlive it
/// Threads:    all members from any thread
class Reconnector final : public LinkSource, public std::enable_shared_from_this<Reconnector> {
 public:
  Reconnector(Timers& timers, std::shared_ptr<Dialer> dialer, ReconnectOptions options);
  void wanted(std::weak_ptr<Endpoint> by, Clock::time_point until) override;
  std::uint64_t attempts() const;  ///< dials so far

 private:
  void plan();  // under the lock: the next attempt, after the pause
  void attempt();
  void finish_attempt(Result<std::shared_ptr<Link>> link);
  Clock::duration shortened(Clock::duration pause) const;

  Timers& timers_;
  const std::shared_ptr<Dialer> dialer_;
  const ReconnectOptions options_;
  mutable std::mutex mutex_;
  std::weak_ptr<Endpoint> endpoint_;
  Clock::time_point until_{};
  Clock::time_point attached_at_{};  ///< of the last link made here
  Clock::duration pause_{};          ///< before the next attempt
  std::uint64_t attempts_ = 0;
  bool trying_ = false;
};

}  // namespace troupe::net
