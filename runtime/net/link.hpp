#pragma once
/// \file link.hpp
/// What carries frames between two processes. Knows no actors and no requests; `Endpoint` builds
/// those on top.
#include "runtime/base/result.hpp"
#include "runtime/net/frame.hpp"
#include "runtime/net/timers.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace troupe::net {

/// Gets what a link receives.
/// Threads: called by one thread at a time, with no lock of the link held. May call the link.
class LinkEvents {
 public:
  virtual ~LinkEvents() = default;
  virtual void on_frame(Frame&& frame) = 0;    ///< see Link: Ordering
  virtual void on_down(const Error& why) = 0;  ///< exactly once; nothing follows
};

/// One end of a connection to one peer.
/// Threads:   all members from any thread, also under a lock of the caller: they never block and
///   never call LinkEvents on the caller's stack
/// Ordering:  frames of one class begin in the order sent and take turns piece by piece (decision
///   0009): one of at most a piece (256 KiB) is overtaken by none of its class, a larger one is by
///   those that finish before it. Frames of different classes overtake each other
/// Lifecycle: start() once. The link keeps `events` alive until on_down() returned, then lets go. A
///   link that is never closed is a leak
class Link {
 public:
  virtual ~Link() = default;
  virtual void start(std::shared_ptr<LinkEvents> events) = 0;
  virtual void send(Frame&& frame) = 0;       ///< dropped silently after close()
  virtual void close(Error why) = 0;          ///< on_down(why) follows at both ends
  virtual Clock::time_point now() const = 0;  ///< virtual in a simulation
  virtual void after(Clock::duration delay,
                     std::function<void()> f) = 0;  ///< not run once the link is down
};

}  // namespace troupe::net
