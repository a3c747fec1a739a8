#pragma once
/// \file sim_wire.hpp
/// What is between the two ends of a simulated link. For `make_sim_link` and `SimCable` only; all
/// others use `Link`.
#include "runtime/net/piece.hpp"
#include "runtime/net/sim_cable.hpp"
#include "runtime/net/sim_network.hpp"

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::net {

/// Both ends of one connection. Kept alive by its two links and by events under way.
/// Threads: all members from any thread; events come one at a time, from the driver.
class SimWire : public std::enable_shared_from_this<SimWire> {
 public:
  SimWire(SimDriver& driver, const SimLinkOptions& options);

  void start(std::size_t end, std::shared_ptr<LinkEvents> events);
  void send(std::size_t end, Frame&& frame);
  void close(Error why);
  /// As close(), but each end learns of it after its own time, and what is on the wire may be lost.
  void cut(Error why, const SimCut& how);
  /// What `end` sends stays where it is.
  void hold(std::size_t end, bool on);
  /// Of what leaves `end` next the first byte is changed.
  void corrupt(std::size_t end);
  void set_latency(Clock::duration latency);
  void set_bandwidth(double bytes_per_second);
  Clock::time_point now() const { return driver_.now(); }
  void after(std::size_t end, Clock::duration delay, std::function<void()> f);

 private:
  struct End {
    explicit End(FrameLimits limits) : reader(limits) {}
    PieceWriter writer;               // of what leaves here
    Segment block;                    // bytes under way out of the writer
    std::span<const std::byte> rest;  // of them, what has not begun to leave
    std::size_t unacknowledged = 0;   // bytes that began to leave, not known to be taken
    bool held = false;
    bool corrupt = false;              // the next block
    bool pumping = false;              // an event that takes pieces from the writer is queued
    Clock::time_point free_at{};       // when the last bytes have left
    Clock::time_point last_arrival{};  // of what left here: a lower latency overtakes nothing
    PieceReader reader;                // of what arrives here; used by events only
    bool broken = false;               // the reader has seen corrupt bytes
    std::deque<Segment> waiting;       // arrived before start()
    std::shared_ptr<LinkEvents> events;
    bool started = false;
    bool down = false;
  };

  void pump(std::size_t end);
  void plan_pump(std::size_t end);         // under the lock
  std::size_t may_leave(const End& from);  // under the lock
  Segment next_block(End& from, int to);   // under the lock
  Clock::duration leaving_time(std::size_t bytes) const;
  void deliver(std::size_t end, const Segment& bytes);
  void deliver_waiting(std::size_t end);
  void read(std::size_t end, const Segment& bytes, LinkEvents& events);
  void acknowledge(std::size_t end, std::size_t bytes);
  bool is_down(std::size_t end) const;
  void lose(std::size_t end);
  void say_down(std::size_t end);

  SimDriver& driver_;
  mutable std::mutex mutex_;
  SimLinkOptions options_;  // latency and bandwidth may change
  std::array<End, 2> ends_;
  std::optional<Error> closing_;  // set once, before any end is down
  bool lose_in_flight_ = false;
};

using LinkPair = std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>>;
LinkPair links_of(const std::shared_ptr<SimWire>& wire);

}  // namespace troupe::net
