#include "runtime/net/endpoint.hpp"

#include "runtime/net/endpoint_state.hpp"
#include "runtime/net/error_codes.hpp"
#include "runtime/net/saturate.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe::net {
namespace {

/// Whether another link can help: not if a side closed it on purpose, and not if a frame is over the
/// limits, because it would come again.
bool worth_another_link(const Error& why) {
  return why.code() != Errc::cancelled && why.code() != Errc::invalid_argument;
}

/// Whether an answer breaks what its request announced. A failure may take its largest size.
bool is_oversized(FrameKind kind, std::uint64_t bytes, std::uint64_t announced) {
  switch (kind) {
    case FrameKind::failure:
      return bytes > std::max(announced, largest_failure_bytes);
    case FrameKind::too_large:
      return true;
    default:
      return bytes > announced;
  }
}

Error oversized_answer(const Frame& answer, std::uint64_t announced) {
  const bool size_only = answer.head.kind == FrameKind::too_large;
  return {
      Errc::data_corruption,
      fmt::format("request {} (method {}): expected {} the {} bytes that it announced, found {}",
                  answer.head.request, answer.head.method,
                  size_only ? "the size of an answer larger than" : "an answer of at most",
                  announced, size_only ? answer.head.max_reply_bytes : answer.size_bytes())};
}

}  // namespace

/// What one link tells; knows which one it was.
class Endpoint::Port final : public LinkEvents {
 public:
  Port(std::shared_ptr<Endpoint> endpoint, std::uint64_t number)
      : endpoint_(std::move(endpoint)), number_(number) {}
  void on_frame(Frame&& frame) override { endpoint_->on_frame(number_, std::move(frame)); }
  void on_down(const Error& why) override { endpoint_->on_down(number_, why); }

 private:
  const std::shared_ptr<Endpoint> endpoint_;
  const std::uint64_t number_;
};

Endpoint::Endpoint(std::shared_ptr<Link> link, std::shared_ptr<RequestHandler> handler,
                   EndpointOptions options)
    : state_(std::make_unique<State>(std::move(link), std::move(handler), std::move(options))) {}
Endpoint::~Endpoint() = default;

void Endpoint::listen() {
  state_->link->start(std::make_shared<Port>(shared_from_this(), state_->link_number));
}

void Endpoint::start() {
  auto& s = *state_;
  std::unique_lock guard(s.mutex);
  if (s.link) {
    return listen();
  }
  interrupt(Error(Errc::peer_lost, s.options.name + ": not connected yet"));
  s.stats.interruptions = 0;
  const auto until = *s.interrupted_at + s.options.recovery_deadline;
  const auto source = s.options.source;
  guard.unlock();
  if (source) {
    source->wanted(weak_from_this(), until);
  }
}

EndpointStats Endpoint::stats() const {
  const std::lock_guard guard(state_->mutex);
  auto stats = state_->stats;
  for (std::size_t i = 0; i < traffic_classes; ++i) {
    stats.classes[i] = state_->lanes[i].stats;
  }
  return stats;
}

bool Endpoint::interrupted() const {
  const std::lock_guard guard(state_->mutex);
  return state_->interrupted_at.has_value() && !state_->down && !state_->closing;
}

// ---- requesting ----

void Endpoint::request(Frame&& frame, std::uint64_t reply_bytes, Answer answer,
                       std::optional<Clock::duration> deadline) {
  auto& s = *state_;
  const std::uint64_t bytes = frame.size_bytes();
  std::unique_lock guard(s.mutex);
  auto& lane = s.lanes[lane_of(frame.head)];
  State::Entry entry;
  entry.lane = lane_of(frame.head);
  entry.method = frame.head.method;
  entry.request_bytes = bytes;
  entry.most_reply_bytes = reply_bytes;
  const bool now = lane.queue.empty() && s.window_has_room(lane, entry.cost());
  const bool later = s.options.queue_bytes > 0 &&
                     fits(lane.queued_bytes, bytes, s.options.queue_bytes, lane.queue.empty());
  if (s.down || (!now && !later)) {
    s.stats.overloaded += s.down ? 0U : 1U;
    Error refused = s.down ? *s.down : s.refusal(lane, entry, bytes);
    guard.unlock();
    answer(std::move(refused));
    return;
  }
  const std::uint64_t id = s.next_request++;
  frame.head.kind = FrameKind::request;
  frame.head.request = id;
  frame.head.max_reply_bytes = reply_bytes;
  entry.answer = std::move(answer);
  entry.submitted = s.now();
  entry.deadline =
      entry.submitted + std::min(deadline.value_or(s.options.deadline), longest_deadline);
  auto& placed = s.entries.insert(id, std::move(entry));
  if (now) {
    s.transmit(placed, std::move(frame));
  } else {
    s.enqueue(id, std::move(frame));
  }
  arm_tick(placed.deadline);
}

void Endpoint::arm_tick(Clock::time_point first) {
  auto& s = *state_;
  if (s.tick_at && *s.tick_at <= first) {
    return;  // that tick will look again
  }
  s.tick_at = first;
  s.after(first - s.now(), [weak = weak_from_this(), first] {
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
      expired = s.take_expired(s.now());
      if (const auto first = s.first_deadline()) {
        arm_tick(*first);
      }
    }
  }
  for (auto& [answer, why] : expired) {
    answer(std::move(why));
  }
}

void Endpoint::on_answer(std::uint64_t link_number, Frame&& frame) {
  auto& s = *state_;
  const auto bytes = frame.size_bytes();
  State::Entry entry;  // let go without the lock
  bool oversized = false;
  {
    const std::lock_guard guard(s.mutex);
    if (!s.is_current(link_number)) {
      return;
    }
    s.stats.bytes_received += bytes;
    const auto id = frame.head.request;
    const auto* const open = s.entries.find(id);
    if (open == nullptr || !open->sent) {
      ++s.stats.dropped;
      return;
    }
    if (frame.head.kind == FrameKind::too_large &&
        frame.head.max_reply_bytes > open->most_reply_bytes) {
      return take_size(id, frame.head.max_reply_bytes);
    }
    ++s.stats.replies;
    oversized = is_oversized(frame.head.kind, bytes, open->most_reply_bytes);
    s.stats.oversized += oversized ? 1U : 0U;
    entry = s.release(id, bytes);
    s.send_queued(s.lanes[entry.lane]);
  }
  if (oversized) {
    entry.answer(oversized_answer(frame, entry.most_reply_bytes));
  } else if (frame.head.kind == FrameKind::failure) {
    entry.answer(decode_error(frame));
  } else {
    entry.answer(std::move(frame));
  }
}

/// The peer keeps an answer of so many bytes: the request waits for room for it, at its old place.
void Endpoint::take_size(std::uint64_t id, std::uint64_t bytes) {
  auto& s = *state_;
  auto& entry = *s.entries.find(id);
  s.land(entry, sizeof(FrameHeader));
  ++s.stats.asked_again;
  entry.sent = false;
  entry.most_reply_bytes = bytes;
  Frame frame = *std::exchange(entry.again, std::nullopt);
  frame.head.max_reply_bytes = bytes;
  s.enqueue(id, std::move(frame));
  s.send_queued(s.lanes[entry.lane]);
}

// ---- links ----

bool Endpoint::attach(const std::shared_ptr<Link>& link) {
  auto& s = *state_;
  std::shared_ptr<Link> old;
  std::shared_ptr<RequestHandler> handler;
  bool taken = false;
  {
    const std::lock_guard guard(s.mutex);
    taken = !s.down && !s.closing;
    if (taken) {
      s.stats.interruptions += s.link ? 1U : 0U;
      old = std::exchange(s.link, link);
      ++s.link_number;
      s.interrupted_at.reset();
      listen();
      s.resend();
      handler = s.handler;
    }
  }
  if (!taken) {
    link->close(Error(Errc::cancelled, s.options.name + ": closed here"));
    return false;
  }
  if (old) {
    old->close(Error(Errc::peer_lost, s.options.name + ": replaced by a new link"));
  }
  handler->on_resumed();
  return true;
}

void Endpoint::not_connected(const Error& why) {
  auto& s = *state_;
  {
    const std::lock_guard guard(s.mutex);
    if (s.interrupted_at) {
      s.cause = why;
    }
  }
  if (is_final_refusal(why.code())) {
    close(why);
  }
}

void Endpoint::close(Error why) {
  auto& s = *state_;
  const std::lock_guard guard(s.mutex);
  if (s.down || s.closing) {
    return;
  }
  s.closing = true;
  if (s.link) {
    s.link->close(std::move(why));
  } else {
    s.after({}, [self = shared_from_this(), why = std::move(why)] {
      self->finish(std::unique_lock(self->state_->mutex), why);
    });
  }
}

void Endpoint::on_frame(std::uint64_t link_number, Frame&& frame) {
  switch (frame.head.kind) {
    case FrameKind::request:
      return on_request(link_number, std::move(frame));
    case FrameKind::reply:
    case FrameKind::failure:
    case FrameKind::too_large:
      return on_answer(link_number, std::move(frame));
  }
}

void Endpoint::on_down(std::uint64_t link_number, const Error& why) {
  auto& s = *state_;
  std::unique_lock guard(s.mutex);
  if (!s.is_current(link_number)) {
    return;
  }
  if (!s.recovers() || s.closing || !worth_another_link(why)) {
    return finish(std::move(guard), why);
  }
  const auto old = std::exchange(s.link, nullptr);  // let go without the lock
  interrupt(why);
  const auto until = *s.interrupted_at + s.options.recovery_deadline;
  const auto handler = s.handler;
  const auto source = s.options.source;
  guard.unlock();
  handler->on_interrupted(why);
  if (source) {
    source->wanted(weak_from_this(), until);
  }
}

void Endpoint::interrupt(const Error& why) {
  auto& s = *state_;
  ++s.stats.interruptions;
  s.interrupted_at = s.now();
  s.cause = why;
  // Strong: nothing else may hold an endpoint that has no link.
  s.after(s.options.recovery_deadline,
          [self = shared_from_this(), number = s.link_number] { self->give_up(number); });
}

void Endpoint::give_up(std::uint64_t link_number) {
  auto& s = *state_;
  std::unique_lock guard(s.mutex);
  if (s.down || !s.interrupted_at || s.link_number != link_number) {
    return;  // there was a new link
  }
  const Error why = s.lost(s.now());
  finish(std::move(guard), why);
}

void Endpoint::finish(std::unique_lock<std::mutex> guard, const Error& why) {
  auto& s = *state_;
  if (s.down) {
    return;
  }
  s.down = why;
  const auto link = std::exchange(s.link, nullptr);
  const auto handler = std::exchange(s.handler, nullptr);
  const auto source = std::exchange(s.options.source, nullptr);
  auto entries = std::exchange(s.entries, {});
  std::vector<std::map<std::uint64_t, Frame>> queues;
  for (auto& lane : s.lanes) {
    queues.push_back(std::exchange(lane.queue, {}));
    lane.in_flight_bytes = lane.queued_bytes = lane.in_flight = lane.large_in_flight = 0;
  }
  const auto serving = std::exchange(s.serving, {});
  s.serving_bytes = 0;
  guard.unlock();  // all that was taken out is freed without it
  handler->on_ending(why);
  for (const auto id : entries.ids()) {
    entries.find(id)->answer(why);
  }
  handler->on_link_down(why);
}

}  // namespace troupe::net
