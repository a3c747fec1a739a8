#include "runtime/net/tcp_link.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <new>
#include <thread>

namespace troupe::net {
namespace {

constexpr std::size_t scratch_bytes = std::size_t{32} << 10;
/// Read past the end of a segment's part: the next header, and little that is to be copied.
constexpr std::size_t scratch_behind_direct = std::size_t{4} << 10;
constexpr std::size_t least_direct = std::size_t{4} << 10;

}  // namespace

TcpLink::TcpLink(std::shared_ptr<TcpIo::State> io, std::unique_ptr<TcpStream> stream,
                 std::string name, const TcpOptions& options)
    : io_(std::move(io)),
      name_(std::move(name)),
      options_(options),
      stream_(std::move(stream)),
      reader_(options.limits),
      timer_(io_->context),
      last_sent_(Clock::now()),
      last_heard_(last_sent_) {}

std::shared_ptr<Link> TcpLink::make(std::shared_ptr<TcpIo::State> io,
                                    std::unique_ptr<TcpStream> stream, std::string name,
                                    const TcpOptions& options, std::span<const std::byte> early) {
  const auto link =
      std::make_shared<TcpLink>(std::move(io), std::move(stream), std::move(name), options);
  link->early_.assign(early.begin(), early.end());
  link->io_->add(link);
  // Beyond the time after which it is lost anyway: bounds what waits for a peer that does not read.
  link->stream_->set_user_timeout(2 * options.lost_after);
  link->watch();
  return link;
}

void TcpLink::start(std::shared_ptr<LinkEvents> events) {
  io_->post([self = shared_from_this(), events = std::move(events)]() mutable {
    self->begin(std::move(events));
  });
}

void TcpLink::begin(std::shared_ptr<LinkEvents> events) {
  TROUPE_ASSERT(!started_, "a link is started once", name_);
  started_ = true;
  events_ = std::move(events);
  last_heard_ = Clock::now();
  if (phase_ != Phase::up) {
    return tell_down();
  }
  if (!early_.empty()) {
    const auto early = std::exchange(early_, {});
    return deliver(feed(0, early));
  }
  read();
}

void TcpLink::after(Clock::duration delay, std::function<void()> f) {
  io_->run_at(Clock::now() + delay, [weak = weak_from_this(), f = std::move(f)] {
    if (const auto self = weak.lock(); self && self->phase_ == Phase::up) {
      f();
    }
  });
}

// ---- writing ----

void TcpLink::send(Frame&& frame) {
  const std::lock_guard guard(mutex_);
  if (closing_) {
    return;
  }
  outbox_.push(std::move(frame));
  if (!std::exchange(pumping_, true)) {
    asio::post(io_->context, [self = shared_from_this()] { self->pump(); });
  }
}

/// Writes what there is, as long as the socket takes it.
void TcpLink::pump() {
  if (writing_ || phase_ != Phase::up) {
    return;
  }
  std::size_t total = 0;
  // Who sends has more to say, often, and may wait for this processor: one write takes it all.
  std::this_thread::yield();
  while (fill()) {
    const std::size_t bytes = stream_->write_now(batch_.unwritten());
    batch_.written(bytes);
    total += bytes;
    if (!batch_.empty()) {
      return write();
    }
    last_sent_ = Clock::now();
    if (total >= most_in_a_row) {  // the sockets of other links wait
      asio::post(io_->context, [self = shared_from_this()] { self->pump(); });
      return;
    }
  }
  batch_.drop_block();
}

bool TcpLink::fill() {
  {
    const std::lock_guard guard(mutex_);
    pumping_ = outbox_.take() || !writer_.empty();
  }
  outbox_.pour(writer_);
  batch_.fill(writer_);
  return !batch_.empty();
}

void TcpLink::write() {
  writing_ = true;
  stream_->write_some(batch_.unwritten(),
                      [self = shared_from_this()](const ErrorCode& error, std::size_t bytes) {
                        self->on_written(error, bytes);
                      });
}

void TcpLink::on_written(const ErrorCode& error, std::size_t bytes) {
  writing_ = false;
  if (phase_ == Phase::closed) {
    batch_ = {};
    dropped_ = {};
    return;
  }
  if (error) {
    no_goodbye_ = true;
    close(stream_->explain(error).with(name_));
    return phase_ == Phase::up ? void() : shut();
  }
  last_sent_ = Clock::now();
  batch_.written(bytes);
  if (!batch_.empty()) {
    write();
  } else if (phase_ == Phase::up) {
    pump();
  } else if (phase_ == Phase::saying_goodbye) {
    dropped_ = {};
    say_goodbye();
  } else {
    stream_->shut_down_writing();  // the goodbye is out
  }
}

void TcpLink::send_heartbeat() {
  {
    const std::lock_guard guard(mutex_);
    if (closing_ || std::exchange(pumping_, true)) {
      return;  // there is something to say
    }
  }
  batch_.add(heartbeat_piece());
  write();
}

// ---- reading ----

void TcpLink::read() {
  reading_ = true;
  if (scratch_.empty()) {
    scratch_.resize(scratch_bytes);
  }
  std::span<std::byte> direct;
  if (phase_ == Phase::up) {
    direct = reader_->direct();
  }
  if (direct.size() < least_direct) {
    direct = {};
  }
  const auto scratch =
      std::span(scratch_).first(direct.empty() ? scratch_bytes : scratch_behind_direct);
  stream_->read_some(
      direct, scratch,
      [self = shared_from_this(), n = direct.size()](const ErrorCode& error, std::size_t bytes) {
        self->on_read(error, bytes, n);
      });
}

void TcpLink::on_read(const ErrorCode& error, std::size_t bytes, std::size_t direct) {
  reading_ = false;
  if (phase_ == Phase::closed) {
    reader_.emplace(options_.limits);  // what was incomplete is let go
    return;
  }
  if (error) {
    no_goodbye_ = true;
    close(stream_->explain(error).with(name_));
    return phase_ == Phase::up ? void() : shut();
  }
  last_heard_ = Clock::now();
  if (phase_ != Phase::up) {
    return read();  // thrown away
  }
  deliver(take(bytes, direct));
}

Status TcpLink::take(std::size_t bytes, std::size_t direct) {
  const std::size_t placed = std::min(bytes, direct);
  return feed(placed, std::span(scratch_).first(bytes - placed));
}

/// \param placed  bytes that were read to where the reader wants them
/// \param rest    those after them
Status TcpLink::feed(std::size_t placed, std::span<const std::byte> rest) {
  try {
    if (placed > 0) {
      TROUPE_RETURN_IF_ERROR(reader_->fed(placed, frames_));
    }
    return reader_->feed(rest, frames_);
  } catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory, "no memory for a frame that the peer sends");
  }
}

/// What is sent in answer leaves together, before the next read.
void TcpLink::deliver(Status status) {
  if (!frames_.empty()) {
    bool pump_after = false;
    {
      const std::lock_guard guard(mutex_);
      pump_after = !std::exchange(pumping_, true);
    }
    for (auto& frame : frames_) {
      events_->on_frame(std::move(frame));
    }
    frames_.clear();
    if (pump_after) {
      pump();
    }
  }
  if (!status.ok()) {
    close(std::move(status).error().with(name_));
  } else if (reader_->goodbye()) {
    no_goodbye_ = true;
    close(*reader_->goodbye());
  } else {
    read();
  }
}

// ---- watching ----

void TcpLink::watch() {
  const auto now = Clock::now();
  auto next = std::max(last_sent_ + options_.heartbeat, now + options_.heartbeat / 8);
  if (started_) {
    next = std::min(next, last_heard_ + options_.lost_after);
  }
  timer_.expires_at(next);
  timer_.async_wait([self = shared_from_this(), next](const ErrorCode& error) {
    if (!error) {
      self->check(next);
    }
  });
}

void TcpLink::check(Clock::time_point expected) {
  if (phase_ != Phase::up) {
    return;
  }
  const auto now = Clock::now();
  if (now - expected > options_.lost_after / 2) {
    last_heard_ = std::max(last_heard_, now - options_.lost_after / 2);
    // This process slept, not the peer: what it sent in the meantime waits in the socket.
  }
  const auto silent = now - last_heard_;
  if (started_ && silent >= options_.lost_after) {
    return close(
        Error(Errc::peer_lost, fmt::format("{}: silent for {:.1f} s", name_, seconds_of(silent))));
  }
  if (now - last_sent_ >= options_.heartbeat) {
    send_heartbeat();
  }
  watch();
}

// ---- the end ----

void TcpLink::close(Error why) {
  const std::lock_guard guard(mutex_);
  if (closing_) {
    return;
  }
  closing_ = std::move(why);
  asio::post(io_->context, [self = shared_from_this()] { self->finish(); });
}

void TcpLink::io_ends() {
  close(Error(Errc::cancelled, name_ + ": this process ends its network thread"));
}

void TcpLink::finish() {
  std::vector<Frame> never_taken;  // let go after the lock
  {
    const std::lock_guard guard(mutex_);
    never_taken = outbox_.drop();
  }
  std::swap(dropped_, writer_);
  if (!writing_) {
    dropped_ = {};
  }
  phase_ = Phase::saying_goodbye;
  tell_down();
  if (no_goodbye_) {
    return shut();
  }
  timer_.expires_after(std::min(options_.lost_after, longest_linger));
  timer_.async_wait([self = shared_from_this()](const ErrorCode& error) {
    if (!error) {
      self->shut();
    }
  });
  if (!writing_) {
    say_goodbye();
  }
  if (!reading_) {
    read();
  }
}

void TcpLink::say_goodbye() {
  phase_ = Phase::draining;
  batch_.add(goodbye_piece(*closing_));  // set once, before
  write();
}

/// Closes the socket; what is under way on it ends by itself.
void TcpLink::shut() {
  phase_ = Phase::closed;
  timer_.cancel();
  stream_->close();
  io_->remove(this);
  if (!writing_) {
    batch_ = {};
    dropped_ = {};
  }
  if (!reading_) {
    reader_.emplace(options_.limits);
  }
}

void TcpLink::tell_down() {
  if (const auto events = std::exchange(events_, nullptr)) {
    events->on_down(*closing_);
  }
}

}  // namespace troupe::net
