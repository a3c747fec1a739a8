#include "runtime/net/sim_wire.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace troupe::net {
namespace {

constexpr std::size_t unlimited_block_bytes = std::size_t{1} << 20;

class SimLink final : public Link {
 public:
  SimLink(std::shared_ptr<SimWire> wire, std::size_t end) : wire_(std::move(wire)), end_(end) {}
  void start(std::shared_ptr<LinkEvents> events) override { wire_->start(end_, std::move(events)); }
  void send(Frame&& frame) override { wire_->send(end_, std::move(frame)); }
  void close(Error why) override { wire_->close(std::move(why)); }
  Clock::time_point now() const override { return wire_->now(); }
  void after(Clock::duration delay, std::function<void()> f) override {
    wire_->after(end_, delay, std::move(f));
  }

 private:
  const std::shared_ptr<SimWire> wire_;
  const std::size_t end_;
};

}  // namespace

LinkPair links_of(const std::shared_ptr<SimWire>& wire) {
  return {std::make_shared<SimLink>(wire, 0), std::make_shared<SimLink>(wire, 1)};
}

LinkPair make_sim_link(SimDriver& driver, const SimLinkOptions& options) {
  return links_of(std::make_shared<SimWire>(driver, options));
}

SimWire::SimWire(SimDriver& driver, const SimLinkOptions& options)
    : driver_(driver), options_(options), ends_{End(options.limits), End(options.limits)} {}

void SimWire::start(std::size_t end, std::shared_ptr<LinkEvents> events) {
  {
    const std::lock_guard guard(mutex_);
    TROUPE_ASSERT(!ends_[end].started, "a link is started once; end", end);
    ends_[end].started = true;
    ends_[end].events = std::move(events);
  }
  driver_.at(driver_.now(), [self = shared_from_this(), end] { self->deliver_waiting(end); });
}

void SimWire::after(std::size_t end, Clock::duration delay, std::function<void()> f) {
  driver_.at(driver_.now() + delay, [weak = weak_from_this(), end, f = std::move(f)] {
    if (const auto self = weak.lock(); self && !self->is_down(end)) {
      f();
    }
  });
}

void SimWire::hold(std::size_t end, bool on) {
  const std::lock_guard guard(mutex_);
  ends_[end].held = on;
  plan_pump(end);
}

void SimWire::corrupt(std::size_t end) {
  const std::lock_guard guard(mutex_);
  ends_[end].corrupt = true;
}

void SimWire::set_latency(Clock::duration latency) {
  const std::lock_guard guard(mutex_);
  options_.latency = latency;
}

void SimWire::set_bandwidth(double bytes_per_second) {
  const std::lock_guard guard(mutex_);
  options_.bytes_per_second = bytes_per_second;
}

// ---- sending ----

void SimWire::send(std::size_t end, Frame&& frame) {
  const std::lock_guard guard(mutex_);
  if (closing_) {
    return;
  }
  ends_[end].writer.push(std::move(frame));
  plan_pump(end);
}

void SimWire::plan_pump(std::size_t end) {
  auto& from = ends_[end];
  if (from.pumping || from.held || closing_ || (from.rest.empty() && from.writer.empty()) ||
      may_leave(from) == 0) {
    return;
  }
  from.pumping = true;
  from.free_at = std::max(from.free_at, driver_.now());
  driver_.at(from.free_at, [self = shared_from_this(), end] { self->pump(end); });
}

/// Puts the next bytes on the wire.
void SimWire::pump(std::size_t end) {
  const std::lock_guard guard(mutex_);
  auto& from = ends_[end];
  from.pumping = false;
  if (closing_ || from.held) {
    return;
  }
  if (from.rest.empty()) {
    from.block = next_block(from, static_cast<int>(1 - end));
    from.rest = from.block.bytes;
  }
  const std::size_t n = std::min(from.rest.size(), may_leave(from));
  Segment bytes{from.block.owner, from.rest.first(n)};
  from.rest = from.rest.subspan(n);
  from.unacknowledged += n;
  from.free_at += leaving_time(n);
  // Where the driver is late, bytes that came in the meantime leave now, not when it was due.
  const auto left = std::max(from.free_at, driver_.now());
  from.last_arrival = std::max(from.last_arrival, left + options_.latency);
  driver_.at(from.last_arrival, [self = shared_from_this(), to = 1 - end,
                                 bytes = std::move(bytes)] { self->deliver(to, bytes); });
  plan_pump(end);
}

/// Bytes that fit into the buffers; less than half of them are as none, so that what leaves does
/// not crumble.
std::size_t SimWire::may_leave(const End& from) {
  const std::size_t all = options_.buffer_bytes;
  if (all == 0) {
    return ~std::size_t{0};
  }
  const std::size_t room = all - from.unacknowledged;
  return 2 * room < all ? 0 : room;
}

/// One piece, or with unlimited bandwidth and buffers several, as bytes. \requires the writer is not
/// empty
Segment SimWire::next_block(End& from, int to) {
  auto piece = from.writer.next();
  const std::size_t first = sizeof(PieceHeader) + piece->header.bytes;
  std::size_t capacity = first;
  if (options_.bytes_per_second <= 0 && options_.buffer_bytes == 0) {
    // A frame has at least 80 bytes, so headers of pieces add less than a seventh.
    const auto rest = static_cast<std::size_t>(from.writer.queued_bytes());
    capacity = std::min(first + rest + rest / 7, unlimited_block_bytes);
  }
  Buffer block(capacity);
  std::size_t used = 0;
  const auto put = [&](std::span<const std::byte> bytes) {
    std::memcpy(block.data() + used, bytes.data(), bytes.size());
    used += bytes.size();
  };
  for (; piece; piece = from.writer.next()) {
    put(std::as_bytes(std::span(&piece->header, 1)));
    for (const auto& span : piece->spans) {
      put(span);
    }
    const std::size_t most =
        sizeof(PieceHeader) + std::min<std::size_t>(max_piece_bytes, from.writer.queued_bytes());
    if (from.writer.empty() || capacity - used < most) {
      break;
    }
  }
  if (std::exchange(from.corrupt, false)) {
    block.data()[0] ^= std::byte{0xFF};
  }
  if (options_.tamper) {
    options_.tamper(to, block.bytes().first(used));
  }
  Segment segment = std::move(block).freeze();
  segment.bytes = segment.bytes.first(used);
  return segment;
}

Clock::duration SimWire::leaving_time(std::size_t bytes) const {
  if (options_.bytes_per_second <= 0) {
    return {};
  }
  const double ns = std::ceil(static_cast<double>(bytes) * 1e9 / options_.bytes_per_second);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
}

void SimWire::acknowledge(std::size_t end, std::size_t bytes) {
  const std::lock_guard guard(mutex_);
  ends_[end].unacknowledged -= bytes;
  plan_pump(end);
}

// ---- receiving ----

void SimWire::deliver(std::size_t end, const Segment& bytes) {
  std::shared_ptr<LinkEvents> events;
  {
    const std::lock_guard guard(mutex_);
    auto& to = ends_[end];
    if (to.down || to.broken || lose_in_flight_) {
      return;
    }
    if (!to.started || !to.waiting.empty()) {
      to.waiting.push_back(bytes);
      return;
    }
    events = to.events;
  }
  read(end, bytes, *events);
}

void SimWire::deliver_waiting(std::size_t end) {
  for (;;) {
    Segment bytes;
    std::shared_ptr<LinkEvents> events;
    {
      const std::lock_guard guard(mutex_);
      auto& to = ends_[end];
      if (to.waiting.empty() || to.broken) {
        break;
      }
      bytes = std::move(to.waiting.front());
      to.waiting.pop_front();
      events = to.events;
    }
    read(end, bytes, *events);
  }
  if (is_down(end)) {
    say_down(end);
  }
}

void SimWire::read(std::size_t end, const Segment& bytes, LinkEvents& events) {
  std::vector<Frame> frames;
  auto status = ends_[end].reader.feed(bytes.bytes, frames);
  for (auto& frame : frames) {
    events.on_frame(std::move(frame));
  }
  if (!status.ok()) {
    {
      const std::lock_guard guard(mutex_);
      ends_[end].broken = true;
      ends_[end].waiting.clear();
    }
    close(std::move(status).error().with("simulated link"));
    return;
  }
  const std::lock_guard guard(mutex_);
  if (options_.buffer_bytes > 0) {
    driver_.at(driver_.now() + options_.latency,
               [self = shared_from_this(), from = 1 - end, n = bytes.bytes.size()] {
                 self->acknowledge(from, n);
               });
  }
}

// ---- the end ----

void SimWire::close(Error why) {
  Clock::duration latency{};
  {
    const std::lock_guard guard(mutex_);
    latency = options_.latency;
  }
  cut(std::move(why), {.lose_in_flight = false, .notice = {latency, latency}});
}

void SimWire::cut(Error why, const SimCut& how) {
  {
    const std::lock_guard guard(mutex_);
    if (closing_) {
      return;
    }
    closing_ = std::move(why);
    lose_in_flight_ = how.lose_in_flight;
  }
  for (const std::size_t end : {0U, 1U}) {
    driver_.at(driver_.now() + how.notice[end],
               [self = shared_from_this(), end] { self->lose(end); });
  }
}

bool SimWire::is_down(std::size_t end) const {
  const std::lock_guard guard(mutex_);
  return ends_[end].down;
}

void SimWire::lose(std::size_t end) {
  bool started = false;
  {
    const std::lock_guard guard(mutex_);
    auto& at = ends_[end];
    at.down = true;
    at.writer = PieceWriter();
    at.block = {};
    at.rest = {};
    started = at.started && at.waiting.empty();
  }
  if (started) {
    say_down(end);
  }
}

/// Once per end: whoever takes the events tells them.
void SimWire::say_down(std::size_t end) {
  std::shared_ptr<LinkEvents> events;
  {
    const std::lock_guard guard(mutex_);
    events.swap(ends_[end].events);
  }
  if (events) {
    events->on_down(*closing_);
  }
}

}  // namespace troupe::net
