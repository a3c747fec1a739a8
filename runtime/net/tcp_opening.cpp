#include "runtime/net/tcp_opening.hpp"

#include "runtime/net/tcp_link.hpp"
#include "runtime/net/ucx_link.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe::net {
namespace {

constexpr std::size_t most_drained = std::size_t{64} << 10;

/// Whether bytes begin a TLS record of a handshake or an alert, which no handshake of ours does.
bool is_tls(std::span<const std::byte> bytes) {
  return (bytes[0] == std::byte{22} || bytes[0] == std::byte{21}) &&
         (bytes.size() < 2 || bytes[1] == std::byte{3});
}

/// What ends a TLS handshake at the other end with a reason: fatal, protocol_version.
constexpr std::array<std::byte, 7> tls_alert{std::byte{21}, std::byte{3}, std::byte{3},
                                             std::byte{0},  std::byte{2}, std::byte{2},
                                             std::byte{70}};

std::unique_ptr<TcpStream> open_stream(const std::shared_ptr<TcpIo::State>& io,
                                       TcpStream::Socket socket, const TcpOptions& options) {
  const auto* tls = tls_for(socket, options);
  return std::make_unique<TcpStream>(io, std::move(socket), tls);
}

}  // namespace

TcpOpening::TcpOpening(std::shared_ptr<TcpIo::State> io, asio::ip::tcp::socket socket,
                       Options options)
    : io_(std::move(io)),
      options_(std::move(options)),
      stream_(open_stream(io_, std::move(socket), options_.tcp)),
      timer_(io_->context) {
  const bool with_ucx = options_.tcp.ucx != UcxUse::off;
  options_.handshake.transport = stream_->encrypted() ? "tcp+tls" : with_ucx ? "tcp+ucx" : "tcp";
  handshake_ = options_.accepting ? Handshake::accept(options_.handshake)
                                  : Handshake::dial(options_.handshake);
}

void TcpOpening::begin(Done done) {
  done_ = std::move(done);
  io_->add(shared_from_this());
  arm(options_.deadline, &TcpOpening::late);
  stream_->encrypted() ? encrypt() : talk();
}

void TcpOpening::arm(Clock::time_point t, void (TcpOpening::*then)()) {
  timer_.expires_at(t);
  timer_.async_wait([self = shared_from_this(), then](const ErrorCode& error) {
    if (!error && !self->over_) {
      (self.get()->*then)();
    }
  });
}

void TcpOpening::late() {
  if (!failed_) {
    fail(Error(Errc::deadline_exceeded, fmt::format("no handshake within {:.1f} s",
                                                    seconds_of(options_.tcp.connect_deadline))),
         false);
  }
}

void TcpOpening::encrypt() {
  const auto role =
      options_.accepting ? asio::ssl::stream_base::server : asio::ssl::stream_base::client;
  stream_->shake_hands(role, [self = shared_from_this()](const ErrorCode& error) {
    if (self->over_ || self->failed_) {
      return;
    }
    if (error) {
      self->answer_in_plain(error);
      return self->fail(self->stream_->explain(error), false);
    }
    self->talk();
  });
}

/// Who knows no TLS learns at least that it is spoken here; OpenSSL would only close.
void TcpOpening::answer_in_plain(const ErrorCode& error) {
  if (options_.accepting && TcpStream::is_no_tls(error)) {
    stream_->write_raw(tls_alert, [self = shared_from_this()](const ErrorCode&, std::size_t) {});
  }
}

/// Sends what is to be sent, then reads or ends.
void TcpOpening::talk() {
  if (out_.empty()) {
    out_ = handshake_->output();
    written_ = 0;
  }
  if (!out_.empty()) {
    return write();
  }
  if (failed_) {
    return linger();
  }
  handshake_->done() ? succeed() : read();
}

void TcpOpening::write() {
  const asio::const_buffer rest = asio::buffer(out_) + written_;
  stream_->write_some(
      std::span(&rest, 1), [self = shared_from_this()](const ErrorCode& error, std::size_t bytes) {
        if (self->over_) {
          return;
        }
        if (error) {
          return self->failed_ ? self->shut() : self->fail(self->stream_->explain(error), false);
        }
        self->written_ += bytes;
        if (self->written_ < self->out_.size()) {
          return self->write();
        }
        self->out_.clear();
        self->talk();
      });
}

void TcpOpening::read() {
  stream_->read_some(
      {}, in_, [self = shared_from_this()](const ErrorCode& error, std::size_t bytes) {
        if (self->over_ || self->failed_) {
          return;
        }
        if (error) {
          return self->fail(self->stream_->explain(error).with("during the handshake"), false);
        }
        self->on_read(bytes);
      });
}

void TcpOpening::on_read(std::size_t bytes) {
  const auto in = std::span(in_).first(bytes);
  if (!std::exchange(heard_, true) && !stream_->encrypted() && is_tls(in)) {
    out_.assign(tls_alert.begin(), tls_alert.end());
    return fail(Error(Errc::unauthenticated,
                      "the peer speaks TLS, this end does not; try: TLS at both ends or at none"),
                true);
  }
  const auto taken = handshake_->feed(in);
  if (!taken.ok()) {
    return fail(taken.error(), true);
  }
  const auto rest = std::span<const std::byte>(in).subspan(*taken);
  early_.assign(rest.begin(), rest.end());
  talk();
}

void TcpOpening::succeed() {
  over_ = true;
  timer_.cancel();
  io_->remove(this);
  Opened opened;
  opened.peer = handshake_->peer();
  auto name = fmt::format("{} link to process {} at {}", options_.handshake.transport,
                          raw(opened.peer.process), stream_->peer());
  const bool with_ucx = !stream_->encrypted() && options_.tcp.ucx != UcxUse::off;
  opened.link = TcpLink::make(io_, std::move(stream_), name, options_.tcp, early_);
  if (with_ucx) {
    opened.link = UcxLink::make(io_, std::move(opened.link), std::move(name), options_.tcp,
                                {handshake_->session_key(), !options_.accepting});
  }
  slot_.reset();
  if (const auto done = std::exchange(done_, nullptr)) {
    done(std::move(opened));
  }
}

/// \param say_it  the peer is to learn it: out_, or what the handshake has to say
void TcpOpening::fail(Error why, bool say_it) {
  failed_ = true;
  if (error_is_proven()) {
    slot_.reset();
  }
  auto error = std::move(why).with(stream_->peer());
  if (const auto done = std::exchange(done_, nullptr)) {
    done(std::move(error));
  }
  if (over_) {
    return;  // abandoned by `done`
  }
  arm(Clock::now() + std::min(longest_linger, options_.tcp.connect_deadline), &TcpOpening::shut);
  say_it ? talk() : linger();
}

/// A socket that is closed with unread bytes takes back what it has sent: they are read first.
void TcpOpening::linger() {
  stream_->shut_down_writing();
  drain();
}

void TcpOpening::drain() {
  stream_->read_raw(in_, [self = shared_from_this()](const ErrorCode& error, std::size_t bytes) {
    if (self->over_) {
      return;
    }
    self->drained_ += bytes;
    error || self->drained_ > most_drained ? self->shut() : self->drain();
  });
}

void TcpOpening::shut() {
  over_ = true;
  timer_.cancel();
  io_->remove(this);
  stream_->close();  // and kept: operations that are under way come back to it
  slot_.reset();
}

void TcpOpening::abandon() {
  done_ = nullptr;
  if (!over_) {
    shut();
  }
}

void TcpOpening::io_ends() {
  if (const auto done = std::exchange(done_, nullptr)) {
    done(Error(Errc::cancelled, "this process ends its network thread"));
  }
  abandon();
}

}  // namespace troupe::net
