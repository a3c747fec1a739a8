#include "runtime/net/endpoint.hpp"

#include "runtime/net/saturate.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <set>

namespace troupe::net {
namespace {

constexpr Clock::duration longest_deadline =
    std::chrono::hours(24 * 365);  // time points do not overflow

/// Whether `cost` still fits into `limit` beside `used`; alone, any cost does.
bool fits(std::uint64_t used, std::uint64_t cost, std::uint64_t limit, bool alone) {
  return alone || (used <= limit && cost <= limit - used);
}

std::size_t lane_of(const FrameHeader& head) {
  return static_cast<std::size_t>(head.traffic);
}

}  // namespace

/// Everything behind one mutex. The link is called under it (it never blocks and never calls back
/// on the caller's stack); answers and the handler never are.
struct Endpoint::State {
  struct Entry {
    std::size_t lane = 0;
    std::uint32_t method = 0;
    std::uint64_t cost = 0;  // request and expected reply
    Clock::time_point submitted;
    Clock::time_point deadline;
    Answer answer;
    bool sent = false;
  };
  /// The window of one traffic class and the queue in front of it.
  struct Lane {
    std::uint64_t window_bytes = 0;
    std::uint64_t in_flight_bytes = 0;
    std::size_t in_flight = 0;
    std::uint64_t queued_bytes = 0;
    std::map<std::uint64_t, Frame> queue;  // by request id: in order of submission
    std::uint64_t last_seen = 0;           // request id from the peer
  };
  using Answers = std::vector<std::pair<Answer, Error>>;

  State(std::shared_ptr<Link> l, std::shared_ptr<RequestHandler> h, EndpointOptions o)
      : link(std::move(l)), handler(std::move(h)), options(o) {
    for (auto& lane : lanes) {
      lane.window_bytes = options.window_bytes;
    }
    auto& control = lanes[static_cast<std::size_t>(TrafficClass::control)];
    control.window_bytes = std::max(control.window_bytes, options.control_window_bytes);
    if (options.gradient_window_bytes > 0) {
      lanes[static_cast<std::size_t>(TrafficClass::gradients)].window_bytes =
          options.gradient_window_bytes;
    }
  }

  const std::shared_ptr<Link> link;
  std::shared_ptr<RequestHandler> handler;  // let go after on_link_down
  const EndpointOptions options;
  mutable std::mutex mutex;
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

  void send(Frame frame) {
    stats.bytes_sent += frame.size_bytes();
    link->send(std::move(frame));
  }

  void transmit(Entry& entry, Frame frame) {
    auto& lane = lanes[entry.lane];
    entry.sent = true;
    ++lane.in_flight;
    lane.in_flight_bytes = saturating_add(lane.in_flight_bytes, entry.cost);
    stats.max_in_flight_bytes = std::max(stats.max_in_flight_bytes, lane.in_flight_bytes);
    ++stats.requests;
    send(std::move(frame));
  }

  bool window_has_room(const Lane& lane, std::uint64_t cost) const {
    return fits(lane.in_flight_bytes, cost, lane.window_bytes, lane.in_flight == 0);
  }

  void send_queued(Lane& lane) {
    while (!lane.queue.empty()) {
      auto& entry = entries.at(lane.queue.begin()->first);
      if (!window_has_room(lane, entry.cost)) {
        return;
      }
      auto next = lane.queue.extract(lane.queue.begin());
      lane.queued_bytes -= next.mapped().size_bytes();
      transmit(entry, std::move(next.mapped()));
    }
  }

  /// Takes an entry out and frees its share of the window or the queue; send_queued() may follow.
  Entry release(std::map<std::uint64_t, Entry>::iterator place) {
    const std::uint64_t id = place->first;
    Entry entry = std::move(place->second);
    entries.erase(place);
    deadlines.erase({entry.deadline, id});
    auto& lane = lanes[entry.lane];
    if (entry.sent) {
      --lane.in_flight;
      lane.in_flight_bytes -= entry.cost;
    } else if (const auto waiting = lane.queue.extract(id)) {
      lane.queued_bytes -= waiting.mapped().size_bytes();
    }
    return entry;
  }

  Answers take_expired(Clock::time_point now) {
    Answers expired;
    while (!deadlines.empty() && deadlines.begin()->first <= now) {
      const auto id = deadlines.begin()->second;
      Entry entry = release(entries.find(id));
      ++stats.expired;
      const auto waited =
          std::chrono::duration_cast<std::chrono::milliseconds>(now - entry.submitted);
      expired.emplace_back(
          std::move(entry.answer),
          Error(Errc::deadline_exceeded,
                fmt::format("request {} (method {}): no answer within {} ms ({})", id, entry.method,
                            waited.count(), entry.sent ? "sent" : "waiting for the window")));
    }
    for (auto& lane : lanes) {
      send_queued(lane);
    }
    return expired;
  }
};

Endpoint::Endpoint(std::shared_ptr<Link> link, std::shared_ptr<RequestHandler> handler,
                   EndpointOptions options)
    : state_(std::make_unique<State>(std::move(link), std::move(handler), options)) {}
Endpoint::~Endpoint() = default;

void Endpoint::start() {
  state_->link->start(shared_from_this());
}

void Endpoint::close(Error why) {
  state_->link->close(std::move(why));
}

// ---- requesting ----

void Endpoint::request(Frame frame, std::uint64_t reply_bytes, Answer answer,
                       std::optional<Clock::duration> deadline) {
  auto& s = *state_;
  const std::uint64_t bytes = frame.size_bytes();
  std::unique_lock guard(s.mutex);
  auto& lane = s.lanes[lane_of(frame.head)];
  State::Entry entry;
  entry.lane = lane_of(frame.head);
  entry.method = frame.head.method;
  entry.cost = saturating_add(bytes, reply_bytes);
  const bool now = lane.queue.empty() && s.window_has_room(lane, entry.cost);
  const bool later = s.options.queue_bytes > 0 &&
                     fits(lane.queued_bytes, bytes, s.options.queue_bytes, lane.queue.empty());
  if (s.down || (!now && !later)) {
    s.stats.overloaded += s.down ? 0U : 1U;
    Error refused =
        s.down
            ? *s.down
            : Error(Errc::overloaded,
                    fmt::format("request of method {}: window ({} of {} bytes) and queue ({} of {} "
                                "bytes) of its class are full; it needs {} and {} bytes",
                                entry.method, lane.in_flight_bytes, lane.window_bytes,
                                lane.queued_bytes, s.options.queue_bytes, entry.cost, bytes));
    guard.unlock();
    answer(std::move(refused));
    return;
  }
  const std::uint64_t id = s.next_request++;
  frame.head.kind = FrameKind::request;
  frame.head.request = id;
  frame.head.max_reply_bytes = reply_bytes;
  entry.answer = std::move(answer);
  entry.submitted = s.link->now();
  entry.deadline =
      entry.submitted + std::min(deadline.value_or(s.options.deadline), longest_deadline);
  s.deadlines.emplace(entry.deadline, id);
  auto& placed = s.entries.emplace(id, std::move(entry)).first->second;
  if (now) {
    s.transmit(placed, std::move(frame));
  } else {
    lane.queued_bytes += bytes;
    s.stats.max_queued_bytes = std::max(s.stats.max_queued_bytes, lane.queued_bytes);
    lane.queue.emplace(id, std::move(frame));
  }
  arm_tick();
}

void Endpoint::arm_tick() {
  auto& s = *state_;
  if (s.deadlines.empty()) {
    return;
  }
  const auto first = s.deadlines.begin()->first;
  if (s.tick_at && *s.tick_at <= first) {
    return;  // that tick will look again
  }
  s.tick_at = first;
  s.link->after(first - s.link->now(), [weak = weak_from_this(), first] {
    if (const auto self = weak.lock()) {
      self->tick(first);
    }
  });
}

void Endpoint::tick(Clock::time_point scheduled) {
  auto& s = *state_;
  State::Answers expired;
  {
    const std::lock_guard guard(s.mutex);
    if (s.tick_at != scheduled) {
      return;  // an earlier tick took over
    }
    s.tick_at.reset();
    if (!s.down) {
      expired = s.take_expired(s.link->now());
      arm_tick();
    }
  }
  for (auto& [answer, why] : expired) {
    answer(std::move(why));
  }
}

void Endpoint::on_answer(Frame frame) {
  auto& s = *state_;
  Answer answer;
  {
    const std::lock_guard guard(s.mutex);
    const auto place = s.entries.find(frame.head.request);
    if (place == s.entries.end() || !place->second.sent) {
      ++s.stats.dropped;
      return;
    }
    ++s.stats.replies;
    auto entry = s.release(place);
    s.send_queued(s.lanes[entry.lane]);
    answer = std::move(entry.answer);
  }
  if (frame.head.kind == FrameKind::failure) {
    answer(decode_error(frame));
  } else {
    answer(std::move(frame));
  }
}

void Endpoint::notify(Frame frame) {
  frame.head.kind = FrameKind::notice;
  frame.head.request = 0;
  frame.head.max_reply_bytes = 0;
  const std::lock_guard guard(state_->mutex);
  if (!state_->down) {
    state_->send(std::move(frame));
  }
}

// ---- serving ----

void Endpoint::on_request(Frame frame) {
  auto& s = *state_;
  std::shared_ptr<RequestHandler> handler;
  {
    const std::lock_guard guard(s.mutex);
    if (s.down) {
      return;
    }
    if (frame.head.kind == FrameKind::request && !admit(frame)) {
      return;
    }
    handler = s.handler;
  }
  handler->on_request(std::move(frame));
}

bool Endpoint::admit(const Frame& frame) {
  auto& s = *state_;
  const auto id = frame.head.request;
  auto& last_seen = s.lanes[lane_of(frame.head)].last_seen;
  if (id <= last_seen || s.serving.contains(id)) {  // 0 is no request either
    ++s.stats.dropped;
    return false;
  }
  last_seen = id;
  const auto bytes = saturating_add(frame.size_bytes(), frame.head.max_reply_bytes);
  if (fits(s.serving_bytes, bytes, s.options.serving_bytes, s.serving.empty())) {
    s.serving.emplace(id, bytes);
    s.serving_bytes = saturating_add(s.serving_bytes, bytes);
    return true;
  }
  ++s.stats.refused;
  Frame refusal;
  encode_error(
      Error(Errc::overloaded, fmt::format("the peer serves {} of {} bytes; the request needs {}",
                                          s.serving_bytes, s.options.serving_bytes, bytes)),
      refusal);
  refusal.head.kind = FrameKind::failure;
  refusal.head.request = id;
  refusal.head.method = frame.head.method;
  s.send(std::move(refusal));
  return false;
}

void Endpoint::answer_peer(const FrameHeader& to, FrameKind kind, Frame frame) {
  auto& s = *state_;
  frame.head.kind = kind;
  frame.head.target = 0;
  frame.head.request = to.request;
  frame.head.method = to.method;
  frame.head.max_reply_bytes = 0;
  const std::lock_guard guard(s.mutex);
  const auto served = s.serving.extract(to.request);
  if (!served || s.down) {
    return;
  }
  s.serving_bytes -= served.mapped();
  ++s.stats.served;
  s.send(std::move(frame));
}

void Endpoint::reply(const FrameHeader& to, Frame frame) {
  answer_peer(to, FrameKind::reply, std::move(frame));
}

void Endpoint::fail(const FrameHeader& to, const Error& why) {
  Frame frame;
  encode_error(why, frame);
  answer_peer(to, FrameKind::failure, std::move(frame));
}

void Endpoint::announce_down(std::uint64_t target, const Error& why) {
  Frame frame;
  encode_error(why, frame);
  frame.head.kind = FrameKind::down;
  frame.head.target = target;
  const std::lock_guard guard(state_->mutex);
  if (!state_->down) {
    state_->send(std::move(frame));
  }
}

// ---- the link ----

EndpointStats Endpoint::stats() const {
  const std::lock_guard guard(state_->mutex);
  return state_->stats;
}

void Endpoint::on_frame(Frame frame) {
  std::shared_ptr<RequestHandler> handler;
  {
    const std::lock_guard guard(state_->mutex);
    state_->stats.bytes_received += frame.size_bytes();
    handler = state_->handler;
  }
  switch (frame.head.kind) {
    case FrameKind::request:
    case FrameKind::notice:
      return on_request(std::move(frame));
    case FrameKind::reply:
    case FrameKind::failure:
      return on_answer(std::move(frame));
    case FrameKind::down:
      if (handler) {
        handler->on_target_down(frame.head.target, decode_error(frame));
      }
      return;
  }
}

void Endpoint::on_down(const Error& why) {
  auto& s = *state_;
  std::map<std::uint64_t, State::Entry> entries;
  std::array<State::Lane, traffic_classes> lanes;  // the queued frames are freed without the lock
  std::shared_ptr<RequestHandler> handler;
  {
    const std::lock_guard guard(s.mutex);
    s.down = why;
    entries.swap(s.entries);
    lanes.swap(s.lanes);
    s.deadlines.clear();
    s.serving.clear();
    s.serving_bytes = 0;
    handler.swap(s.handler);
  }
  for (auto& [id, entry] : entries) {
    entry.answer(why);
  }
  if (handler) {
    handler->on_link_down(why);
  }
}

}  // namespace troupe::net
