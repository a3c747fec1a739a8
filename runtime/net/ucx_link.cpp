#include "runtime/net/ucx_link.hpp"

#include <fmt/format.h>
#include <utility>

namespace troupe::net {
namespace {

/// For the reason why the peer ends, which comes over TCP, to overtake what UCX says of it.
constexpr auto grace = std::chrono::milliseconds(200);

}  // namespace

UcxLink::UcxLink(std::shared_ptr<TcpIo::State> io, std::shared_ptr<Link> tcp, std::string name,
                 const TcpOptions& options, const OfferSeal& seal)
    : io_(std::move(io)),
      tcp_(std::move(tcp)),
      name_(std::move(name)),
      limits_(options.limits),
      required_(options.ucx == UcxUse::required),
      say_(options.say),
      seal_(seal) {}

std::shared_ptr<Link> UcxLink::make(std::shared_ptr<TcpIo::State> io, std::shared_ptr<Link> tcp,
                                    std::string name, const TcpOptions& options,
                                    const OfferSeal& seal) {
  const auto link =
      std::make_shared<UcxLink>(std::move(io), std::move(tcp), std::move(name), options, seal);
  link->open_lane();
  link->tcp_->start(link);
  return link;
}

void UcxLink::open_lane() {
  if (!io_->ucx) {
    io_->ucx.emplace(UcxPort::open(*io_));
  }
  if (!*io_->ucx) {
    no_lane_ = io_->ucx->error();
    return;
  }
  auto lane = (**io_->ucx)->lane(*this, limits_);
  if (lane) {
    lane_ = *std::move(lane);
  } else {
    no_lane_ = std::move(lane).error();
  }
}

void UcxLink::start(std::shared_ptr<LinkEvents> events) {
  io_->post([self = shared_from_this(), events = std::move(events)]() mutable {
    self->begin(std::move(events));
  });
}

void UcxLink::begin(std::shared_ptr<LinkEvents> events) {
  TROUPE_ASSERT(!started_, "a link is started once", name_);
  started_ = true;
  events_ = std::move(events);
  if (down_) {
    return tell_down();
  }
  auto offer = to_frame(lane_ ? &lane_->offer() : nullptr, seal_);
  if (!offer) {
    return close(std::move(offer).error().with(name_));
  }
  tcp_->send(*std::move(offer));
  if (required_ && no_lane_) {
    close(Error(Errc::failed_precondition, no_lane_->what()).with(name_));
  }
}

void UcxLink::after(Clock::duration delay, std::function<void()> f) {
  io_->run_at(Clock::now() + delay, [weak = weak_from_this(), f = std::move(f)] {
    if (const auto self = weak.lock(); self && !self->down_) {
      f();
    }
  });
}

// ---- which way ----

void UcxLink::on_frame(Frame&& frame) {
  if (frame.head.method == offer_method) {
    return take_offer(frame);
  }
  if (!started_) {
    return close(
        Error(Errc::data_corruption,
              name_ + ": expected no frame before this end has made its offer, found one"));
  }
  if (events_) {
    events_->on_frame(std::move(frame));
  }
}

void UcxLink::take_offer(const Frame& frame) {
  auto offer = read_offer(frame, seal_.of_peer());
  if (offer && way_ != Way::unknown) {
    offer = Error(Errc::data_corruption, "UCX offer: expected one, found another");
  }
  if (!offer) {
    return close(std::move(offer).error().with(name_));
  }
  if (!lane_) {
    if (*io_->ucx) {  // else there is none in this process, and the run's start has said so
      say_tcp(no_lane_->what());
    }
    return go(Way::tcp);
  }
  const auto reached =
      *offer ? lane_->connect(**offer) : Status(Error(Errc::unimplemented, "the peer has no UCX"));
  if (!reached && required_) {
    return close_later(
        Error(Errc::failed_precondition,
              fmt::format("{}: {}\ntry: \"auto\" or \"tcp\"", name_, reached.error().what())));
  }
  if (!reached) {
    say_tcp(reached.error().what());
  }
  go(reached ? Way::ucx : Way::tcp);
}

/// For each reason once, with the first link: a process may have many.
void UcxLink::say_tcp(const std::string& why) {
  constexpr std::size_t most_reasons = 16;
  if (say_ && io_->ucx_refusals.size() < most_reasons && io_->ucx_refusals.insert(why).second) {
    say_(fmt::format("{}: frames go over TCP, not UCX: {}", name_, why.substr(0, why.find('\n'))));
  }
}

void UcxLink::go(Way way) {
  {
    const std::lock_guard guard(mutex_);
    if (way == Way::tcp) {
      for (auto& frame : outbox_.drop()) {
        tcp_->send(std::move(frame));
      }
    }
    way_ = way;
    pumping_ = true;
  }
  pump();
}

// ---- frames ----

void UcxLink::send(Frame&& frame) {
  const std::lock_guard guard(mutex_);
  if (closing_) {
    return;
  }
  if (way_ == Way::tcp) {
    return tcp_->send(std::move(frame));
  }
  outbox_.push(std::move(frame));
  if (way_ == Way::ucx && !std::exchange(pumping_, true)) {
    asio::post(io_->context, [self = shared_from_this()] { self->pump(); });
  }
}

void UcxLink::pump() {
  if (lane_ && !down_) {
    lane_->pump();
  }
}

void UcxLink::fill(TcpBatch& batch) {
  {
    const std::lock_guard guard(mutex_);
    pumping_ = outbox_.take() || !writer_.empty();
  }
  outbox_.pour(writer_);
  batch.fill(writer_);
}

/// What is sent in answer leaves together.
void UcxLink::on_frames(std::vector<Frame>& frames) {
  bool pump_after = false;
  {
    const std::lock_guard guard(mutex_);
    pump_after = way_ == Way::ucx && !std::exchange(pumping_, true);
  }
  for (auto& frame : frames) {
    if (events_) {
      events_->on_frame(std::move(frame));
    }
  }
  if (pump_after) {
    pump();
  }
}

// ---- the end ----

void UcxLink::close(Error why) {
  const std::lock_guard guard(mutex_);
  if (closing_) {
    return;
  }
  closing_ = std::move(why);
  asio::post(io_->context, [self = shared_from_this()] { self->finish(); });
}

void UcxLink::on_lane_error(Error why) {
  auto error = std::move(why).with(name_);
  if (error.code() != Errc::peer_lost) {
    return close(std::move(error));
  }
  close_later(std::move(error));
}

void UcxLink::close_later(Error why) {
  io_->run_at(Clock::now() + grace,
              [self = shared_from_this(), why = std::move(why)] { self->close(why); });
}

/// The batches under way are finished, as over TCP, what waits behind them is dropped.
void UcxLink::finish() {
  if (down_) {
    return;
  }
  down_ = true;
  drop_frames();
  tell_down();
  if (!lane_ || !lane_->sending()) {
    return close_tcp();
  }
  io_->run_at(Clock::now() + longest_linger, [self = shared_from_this()] { self->close_tcp(); });
}

void UcxLink::drop_frames() {
  if (dropped_.empty()) {
    std::swap(dropped_, writer_);
  }
  std::vector<Frame> never_taken;  // let go after the lock
  const std::lock_guard guard(mutex_);
  never_taken = outbox_.drop();
}

void UcxLink::on_sent() {
  if (down_) {
    close_tcp();
  }
}

void UcxLink::close_tcp() {
  if (!std::exchange(tcp_down_, true)) {
    tcp_->close(*closing_);  // set once, before
  }
}

void UcxLink::on_down(const Error& why) {
  if (lane_ && !down_) {
    lane_->drain();  // what arrived before
  }
  {
    const std::lock_guard guard(mutex_);
    if (!closing_) {
      closing_ = why;
    }
  }
  down_ = true;
  tcp_down_ = true;
  drop_frames();
  tell_down();
  if (const auto lane = std::exchange(lane_, nullptr)) {
    lane->shut(std::move(dropped_));
  }
}

void UcxLink::tell_down() {
  if (const auto events = std::exchange(events_, nullptr)) {
    events->on_down(*closing_);
  }
}

}  // namespace troupe::net
