#pragma once
/// \file endpoint_state.hpp
/// What an Endpoint keeps. For the sources of Endpoint only.
#include "runtime/net/endpoint.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace troupe::net {

/// Whether `cost` still fits into `limit` beside `used`; alone, any cost does.
inline bool fits(std::uint64_t used, std::uint64_t cost, std::uint64_t limit, bool alone) {
  return alone || (used <= limit && cost <= limit - used);
}

inline std::size_t lane_of(const FrameHeader& head) {
  return static_cast<std::size_t>(head.traffic);
}

/// Everything behind one mutex. The link and the timers are called under it (they never block and
/// never call back on the caller's stack); answers, the handler and the source never are.
struct Endpoint::State {
  struct Entry {
    std::size_t lane = 0;
    std::uint32_t method = 0;
    std::uint64_t cost = 0;  // request and expected reply
    Clock::time_point submitted;
    Clock::time_point deadline;
    Answer answer;
    bool sent = false;
    std::optional<Frame> again;  // what to send over the next link
  };
  /// The window of one traffic class and the queue in front of it.
  struct Lane {
    std::uint64_t window_bytes = 0;
    std::uint64_t in_flight_bytes = 0;
    std::size_t in_flight = 0;
    std::uint64_t queued_bytes = 0;
    std::map<std::uint64_t, Frame> queue;  // by request id: in order of submission
  };
  using Answers = std::vector<std::pair<Answer, Error>>;

  State(std::shared_ptr<Link> l, std::shared_ptr<RequestHandler> h, EndpointOptions o);

  bool recovers() const { return options.recovery_deadline > Clock::duration::zero(); }
  bool is_current(std::uint64_t number) const { return link && number == link_number && !down; }
  Clock::time_point now() const;
  void after(Clock::duration delay, std::function<void()> f);

  void send(Frame frame);  // \requires a link
  void transmit(Entry& entry, Frame frame);
  void resend();
  bool window_has_room(const Lane& lane, std::uint64_t cost) const;
  void send_queued(Lane& lane);
  /// Takes an entry out and frees its share of the window or the queue; send_queued() may follow.
  Entry release(std::map<std::uint64_t, Entry>::iterator place);
  Answers take_expired(Clock::time_point now);
  Error refusal(const Lane& lane, const Entry& entry, std::uint64_t bytes) const;
  Error lost(Clock::time_point now) const;  // \requires interrupted

  std::shared_ptr<Link> link;               // none while interrupted
  std::shared_ptr<RequestHandler> handler;  // let go after on_link_down
  EndpointOptions options;                  // the source is let go with the handler
  mutable std::mutex mutex;
  std::uint64_t link_number = 1;  // what comes from another link is ignored
  std::optional<Clock::time_point> interrupted_at;
  std::optional<Error> cause;  // of the last interruption
  bool closing = false;
  std::optional<Error> down;
  EndpointStats stats;

  // Requesting side.
  std::uint64_t next_request = 1;
  std::map<std::uint64_t, Entry> entries;  // by request id
  std::set<std::pair<Clock::time_point, std::uint64_t>> deadlines;
  std::optional<Clock::time_point> tick_at;
  std::array<Lane, traffic_classes> lanes;

  // Serving side.
  std::map<std::uint64_t, std::uint64_t> serving;  // request id -> bytes
  std::uint64_t serving_bytes = 0;
};

}  // namespace troupe::net
