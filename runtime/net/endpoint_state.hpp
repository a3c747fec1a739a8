#pragma once
/// \file endpoint_state.hpp
/// What an Endpoint keeps. For the sources of Endpoint only.
#include "runtime/net/endpoint.hpp"
#include "runtime/net/flight_peak.hpp"
#include "runtime/net/request_table.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe::net {

/// Whether `cost` still fits into `limit` beside `used`; alone, any cost does.
inline bool fits(std::uint64_t used, std::uint64_t cost, std::uint64_t limit, bool alone) {
  return alone || (used <= limit && cost <= limit - used);
}

constexpr Clock::duration longest_deadline =
    std::chrono::hours(24 * 365);  // time points do not overflow

inline std::size_t lane_of(const FrameHeader& head) {
  return static_cast<std::size_t>(head.traffic);
}

/// Everything behind one mutex. The link and the timers are called under it (they never block and
/// never call back on the caller's stack); answers, the handler and the source never are.
struct Endpoint::State {
  struct Entry {
    std::size_t lane = 0;
    std::uint32_t method = 0;
    std::uint64_t request_bytes = 0;
    std::uint64_t most_reply_bytes = 0;  // announced
    std::uint64_t place = 0;             // in its lane's peak, once it is sent
    Clock::time_point submitted;
    Clock::time_point deadline;
    Answer answer;
    bool sent = false;
    bool counted = false;        // among the requests sent
    std::optional<Frame> again;  // what to send over the next link, or for a larger answer

    std::uint64_t cost() const;  // charged to the window
  };
  /// The window of one traffic class and the queue in front of it.
  struct Lane {
    std::uint64_t window_bytes = 0;
    bool large_beside = false;  // whether items larger than the window pass beside others
    std::uint64_t in_flight_bytes = 0;
    std::size_t in_flight = 0;
    std::size_t large_in_flight = 0;  // with large_beside, of items that the window does not count
    std::uint64_t queued_bytes = 0;
    std::map<std::uint64_t, Frame> queue;  // by request id: in order of submission
    FlightPeak peak;
    ClassStats stats;

    bool is_large(std::uint64_t cost) const { return cost > window_bytes; }
  };
  /// A request of the peer that is being served.
  struct Serving {
    std::uint64_t bytes = 0;
    std::uint64_t most_reply_bytes = 0;
    std::unique_ptr<Frame> kept;  // the answer, which is larger than that
  };
  using Answers = std::vector<std::pair<Answer, Error>>;

  State(std::shared_ptr<Link> l, std::shared_ptr<RequestHandler> h, EndpointOptions o);

  bool recovers() const { return options.recovery_deadline > Clock::duration::zero(); }
  bool is_current(std::uint64_t number) const { return link && number == link_number && !down; }
  Clock::time_point now() const;
  void after(Clock::duration delay, std::function<void()> f);

  void send(Frame&& frame);  // \requires a link
  void transmit(Entry& entry, Frame&& frame);
  void enqueue(std::uint64_t id, Frame&& frame);
  void resend();
  bool window_has_room(const Lane& lane, std::uint64_t cost) const;
  void send_queued(Lane& lane);
  /// Frees the share of the window of an entry that was sent.
  /// \param answer_bytes  of the frame that came for it; 0: none
  void land(const Entry& entry, std::uint64_t answer_bytes);
  /// Takes an entry out and frees its share of the window or the queue; send_queued() may follow.
  Entry release(std::uint64_t id, std::uint64_t answer_bytes = 0);
  Answers take_expired(Clock::time_point now);
  /// Of all entries: looked for once in a deadline's time, which is less work than to keep them sorted.
  std::optional<Clock::time_point> first_deadline() const;
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
  RequestTable<Entry> entries;
  std::optional<Clock::time_point> tick_at;
  std::array<Lane, traffic_classes> lanes;

  // Serving side.
  RequestTable<Serving> serving;
  std::uint64_t serving_bytes = 0;
};

}  // namespace troupe::net
