#include "runtime/net/sim_network.hpp"

#include "runtime/net/piece.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>

namespace troupe::net {
namespace {

constexpr std::size_t unlimited_block_bytes = std::size_t{1} << 20;

/// Both ends of one connection. Kept alive by its two SimLinks and by events under way.
class SimWire : public std::enable_shared_from_this<SimWire> {
 public:
  SimWire(SimDriver& driver, const SimLinkOptions& options)
      : driver_(driver), options_(options), ends_{End(options.limits), End(options.limits)} {}

  void start(std::size_t end, std::shared_ptr<LinkEvents> events) {
    {
      const std::lock_guard guard(mutex_);
      TROUPE_ASSERT(!ends_[end].started, "a link is started once; end", end);
      ends_[end].started = true;
      ends_[end].events = std::move(events);
    }
    driver_.at(driver_.now(), [self = shared_from_this(), end] { self->deliver_waiting(end); });
  }

  void send(std::size_t end, Frame frame) {
    {
      const std::lock_guard guard(mutex_);
      if (closing_) {
        return;
      }
      auto& from = ends_[end];
      from.writer.push(std::move(frame));
      if (from.pumping) {
        return;
      }
      from.pumping = true;
      from.free_at = std::max(from.free_at, driver_.now());
      driver_.at(from.free_at, [self = shared_from_this(), end] { self->pump(end); });
    }
  }

  void close(Error why) {
    {
      const std::lock_guard guard(mutex_);
      if (closing_) {
        return;
      }
      closing_ = std::move(why);
    }
    const auto t = driver_.now() + options_.latency;
    for (const std::size_t end : {0U, 1U}) {
      driver_.at(t, [self = shared_from_this(), end] { self->lose(end); });
    }
  }

  Clock::time_point now() const { return driver_.now(); }

  void after(std::size_t end, Clock::duration delay, std::function<void()> f) {
    driver_.at(driver_.now() + delay, [weak = weak_from_this(), end, f = std::move(f)] {
      if (const auto self = weak.lock(); self && !self->is_down(end)) {
        f();
      }
    });
  }

 private:
  struct End {
    explicit End(FrameLimits limits) : reader(limits) {}
    PieceWriter writer;           // of what leaves here
    bool pumping = false;         // an event that takes pieces from the writer is queued
    Clock::time_point free_at{};  // when the last piece has left
    PieceReader reader;           // of what arrives here; used by events only
    bool broken = false;          // the reader has seen corrupt bytes
    std::deque<Segment> waiting;  // arrived before start()
    std::shared_ptr<LinkEvents> events;
    bool started = false;
    bool down = false;
  };

  /// Puts the next pieces on the wire.
  void pump(std::size_t end) {
    const std::lock_guard guard(mutex_);
    auto& from = ends_[end];
    from.pumping = false;
    if (closing_) {
      return;
    }
    Segment block = next_block(from, 1 - end);
    from.free_at += leaving_time(block.bytes.size());
    driver_.at(from.free_at + options_.latency,
               [self = shared_from_this(), to = 1 - end, block = std::move(block)] {
                 self->deliver(to, block);
               });
    if (!from.writer.empty()) {
      from.pumping = true;
      driver_.at(from.free_at, [self = shared_from_this(), end] { self->pump(end); });
    }
  }

  /// One piece, or with unlimited bandwidth several, as bytes. \requires the lock is held, the
  /// writer is not empty
  Segment next_block(End& from, std::size_t to) {
    auto piece = from.writer.next();
    const std::size_t first = sizeof(PieceHeader) + piece->header.bytes;
    std::size_t capacity = first;
    if (options_.bytes_per_second <= 0) {
      // A frame has at least 88 bytes, so headers of pieces add less than a seventh.
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
    if (options_.tamper) {
      options_.tamper(static_cast<int>(to), block.bytes().first(used));
    }
    Segment segment = std::move(block).freeze();
    segment.bytes = segment.bytes.first(used);
    return segment;
  }

  Clock::duration leaving_time(std::size_t bytes) const {
    if (options_.bytes_per_second <= 0) {
      return {};
    }
    const double ns = std::ceil(static_cast<double>(bytes) * 1e9 / options_.bytes_per_second);
    return std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
  }

  void deliver(std::size_t end, const Segment& block) {
    std::shared_ptr<LinkEvents> events;
    {
      const std::lock_guard guard(mutex_);
      auto& to = ends_[end];
      if (to.down || to.broken) {
        return;
      }
      if (!to.started || !to.waiting.empty()) {
        to.waiting.push_back(block);
        return;
      }
      events = to.events;
    }
    read(end, block, *events);
  }

  void deliver_waiting(std::size_t end) {
    for (;;) {
      Segment block;
      std::shared_ptr<LinkEvents> events;
      {
        const std::lock_guard guard(mutex_);
        auto& to = ends_[end];
        if (to.waiting.empty() || to.broken) {
          break;
        }
        block = std::move(to.waiting.front());
        to.waiting.pop_front();
        events = to.events;
      }
      read(end, block, *events);
    }
    if (is_down(end)) {
      say_down(end);
    }
  }

  void read(std::size_t end, const Segment& block, LinkEvents& events) {
    std::vector<Frame> frames;
    auto status = ends_[end].reader.feed(block.bytes, frames);
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
    }
  }

  bool is_down(std::size_t end) const {
    const std::lock_guard guard(mutex_);
    return ends_[end].down;
  }

  void lose(std::size_t end) {
    bool started = false;
    {
      const std::lock_guard guard(mutex_);
      ends_[end].down = true;
      ends_[end].writer = PieceWriter();
      started = ends_[end].started && ends_[end].waiting.empty();
    }
    if (started) {
      say_down(end);
    }
  }

  /// Once per end: whoever takes the events tells them.
  void say_down(std::size_t end) {
    std::shared_ptr<LinkEvents> events;
    {
      const std::lock_guard guard(mutex_);
      events.swap(ends_[end].events);
    }
    if (events) {
      events->on_down(*closing_);  // set once, before any end is down
    }
  }

  SimDriver& driver_;
  const SimLinkOptions options_;
  mutable std::mutex mutex_;
  std::array<End, 2> ends_;
  std::optional<Error> closing_;
};

class SimLink final : public Link {
 public:
  SimLink(std::shared_ptr<SimWire> wire, std::size_t end) : wire_(std::move(wire)), end_(end) {}
  void start(std::shared_ptr<LinkEvents> events) override { wire_->start(end_, std::move(events)); }
  void send(Frame frame) override { wire_->send(end_, std::move(frame)); }
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

std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> make_sim_link(
    SimDriver& driver, const SimLinkOptions& options) {
  const auto wire = std::make_shared<SimWire>(driver, options);
  return {std::make_shared<SimLink>(wire, 0), std::make_shared<SimLink>(wire, 1)};
}

}  // namespace troupe::net
