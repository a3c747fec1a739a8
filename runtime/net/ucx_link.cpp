#include "runtime/net/ucx_link.hpp"

#include <cstring>
#include <fmt/format.h>
#include <utility>
#include <xxhash.h>

namespace troupe::net {
namespace {

/// In place of a method: "UCX1". A frame of an offer is the first one of each end.
constexpr std::uint32_t offer_method = 0x31584355;
constexpr std::size_t max_worker_address_bytes = std::size_t{16} << 10;
constexpr std::size_t key_words = sizeof(UcxKey) / sizeof(std::uint64_t);
constexpr std::size_t offer_words =
    key_words + 4;  // the version, a checksum of the address, the place
/// For the reason why the peer ends, which comes over TCP, to overtake what UCX says of it.
constexpr auto grace = std::chrono::milliseconds(200);

/// \param offer  null: this end has no UCX
Frame frame_of(const UcxOffer* offer) {
  Frame frame;
  frame.head.method = offer_method;
  frame.meta.resize(offer_words);
  if (offer != nullptr) {
    std::memcpy(frame.meta.data(), offer->key.data(), offer->key.size());
    frame.meta[key_words] = offer->version;
    frame.meta[key_words + 1] = XXH3_64bits(offer->address.data(), offer->address.size());
    frame.meta[key_words + 2] = offer->place.machine;
    frame.meta[key_words + 3] = offer->place.space;
    frame.segments.push_back(Segment::of(std::vector<std::byte>(offer->address)));
  }
  return frame;
}

/// Nothing: the peer has no UCX.
Result<std::optional<UcxOffer>> offer_of(const Frame& frame) {
  const std::size_t bytes = frame.segments.empty() ? 0 : frame.segments[0].bytes.size();
  if (frame.meta.size() != offer_words || frame.segments.size() > 1 ||
      bytes > max_worker_address_bytes) {
    return Error(Errc::data_corruption,
                 fmt::format("UCX offer: expected {} words and at most one segment of {} bytes, "
                             "found {} words and {} segments, the first of {} bytes",
                             offer_words, max_worker_address_bytes, frame.meta.size(),
                             frame.segments.size(), bytes));
  }
  if (bytes == 0) {
    return std::optional<UcxOffer>();
  }
  UcxOffer offer;
  std::memcpy(offer.key.data(), frame.meta.data(), offer.key.size());
  offer.address.assign(frame.segments[0].bytes.begin(), frame.segments[0].bytes.end());
  offer.version = frame.meta[key_words];
  offer.place = {frame.meta[key_words + 2], frame.meta[key_words + 3]};
  if (XXH3_64bits(offer.address.data(), bytes) != frame.meta[key_words + 1]) {
    return Error(Errc::data_corruption,  // UCX would not stand it
                 fmt::format("UCX offer: expected an address with checksum {:016x}, found another",
                             frame.meta[key_words + 1]));
  }
  return std::optional<UcxOffer>(std::move(offer));
}

}  // namespace

UcxLink::UcxLink(std::shared_ptr<TcpIo::State> io, std::shared_ptr<Link> tcp, std::string name,
                 const TcpOptions& options)
    : io_(std::move(io)),
      tcp_(std::move(tcp)),
      name_(std::move(name)),
      limits_(options.limits),
      required_(options.ucx == UcxUse::required) {}

std::shared_ptr<Link> UcxLink::make(std::shared_ptr<TcpIo::State> io, std::shared_ptr<Link> tcp,
                                    std::string name, const TcpOptions& options) {
  const auto link =
      std::make_shared<UcxLink>(std::move(io), std::move(tcp), std::move(name), options);
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
  tcp_->send(frame_of(lane_ ? &lane_->offer() : nullptr));
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

void UcxLink::on_frame(Frame frame) {
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
  auto offer = offer_of(frame);
  if (offer && way_ != Way::unknown) {
    offer = Error(Errc::data_corruption, "UCX offer: expected one, found another");
  }
  if (!offer) {
    return close(std::move(offer).error().with(name_));
  }
  if (!lane_) {
    return go(Way::tcp);
  }
  const auto reached =
      *offer ? lane_->connect(**offer) : Status(Error(Errc::unimplemented, "the peer has no UCX"));
  if (!reached && required_) {
    return close_later(
        Error(Errc::failed_precondition,
              fmt::format("{}: {}\ntry: \"auto\" or \"tcp\"", name_, reached.error().what())));
  }
  go(reached ? Way::ucx : Way::tcp);
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

void UcxLink::send(Frame frame) {
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
