#include "runtime/net/error_codes.hpp"
#include "runtime/net/tcp_address.hpp"
#include "runtime/net/tcp_opening.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>

#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::net {
namespace {

using asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using Dialled = std::function<void(Result<std::shared_ptr<Link>>)>;

/// Says the first refusal of a dialer.
struct FirstRefusal {
  std::function<void(const std::string&)> say;
  bool said = false;  // used on the network thread
};

/// One dial: all addresses of a name, one after the other, within the deadline.
class Dial final : public TcpOpenThing, public std::enable_shared_from_this<Dial> {
 public:
  Dial(std::shared_ptr<TcpIo::State> io, std::string text, HandshakeOptions handshake,
       TcpOptions options, std::shared_ptr<FirstRefusal> first, Dialled done)
      : io_(std::move(io)),
        text_(std::move(text)),
        handshake_(std::move(handshake)),
        options_(std::move(options)),
        first_(std::move(first)),
        done_(std::move(done)),
        deadline_(Clock::now() + options_.connect_deadline),
        resolver_(io_->context),
        socket_(io_->context),
        timer_(io_->context) {}

  void begin();
  void io_ends() override { end(Error(Errc::cancelled, "this process ends its network thread")); }

 private:
  void resolve(const TcpAddress& address);
  void connect();
  void on_connected(const ErrorCode& error);
  void open();
  Error without_proof(const Error& why);
  void wait_until(Clock::time_point t);
  void end(Result<std::shared_ptr<Link>> result);
  Error failure(Errc code, const std::string& what) const {
    return {code, fmt::format("cannot connect to {}: {}", text_, what)};
  }

  const std::shared_ptr<TcpIo::State> io_;
  const std::string text_;
  HandshakeOptions handshake_;
  const TcpOptions options_;
  const std::shared_ptr<FirstRefusal> first_;
  Dialled done_;
  const Clock::time_point deadline_;
  tcp::resolver resolver_;
  tcp::socket socket_;
  std::optional<SocketCount> count_;
  asio::steady_timer timer_;
  std::vector<tcp::endpoint> endpoints_;
  std::size_t next_ = 0;  // of endpoints_
  bool connecting_ = false;
  bool late_ = false;
  std::string last_failure_;
};

void Dial::begin() {
  io_->add(shared_from_this());
  auto address = parse_tcp_address(text_);
  if (!address) {
    return end(std::move(address).error());
  }
  wait_until(deadline_);
  ErrorCode not_numeric;
  const auto numeric = asio::ip::make_address(address->host, not_numeric);
  if (not_numeric) {
    return resolve(*address);
  }
  endpoints_.emplace_back(numeric, address->port);
  connect();
}

void Dial::wait_until(Clock::time_point t) {
  timer_.expires_at(t);
  timer_.async_wait([self = shared_from_this()](const ErrorCode& error) {
    if (error || !self->done_) {
      return;
    }
    if (self->connecting_) {
      ErrorCode ignored;
      self->late_ = true;
      self->socket_.close(ignored);  // on_connected() follows
    } else {
      self->end(self->failure(Errc::deadline_exceeded, "its name is not resolved in time"));
    }
  });
}

void Dial::resolve(const TcpAddress& address) {
  resolver_.async_resolve(address.host, std::to_string(address.port),
                          [self = shared_from_this()](const ErrorCode& error,
                                                      const tcp::resolver::results_type& found) {
                            if (!self->done_) {
                              return;
                            }
                            if (error) {
                              return self->end(self->failure(Errc::peer_lost, error.message()));
                            }
                            for (const auto& entry : found) {
                              self->endpoints_.push_back(entry.endpoint());
                            }
                            self->connect();
                          });
}

/// Tries the next address; each gets an even share of the time that is left.
void Dial::connect() {
  const auto now = Clock::now();
  if (next_ == endpoints_.size() || now >= deadline_) {
    return end(failure(now >= deadline_ ? Errc::deadline_exceeded : Errc::peer_lost,
                       last_failure_.empty() ? "it has no address" : last_failure_));
  }
  const auto shares = static_cast<Clock::rep>(endpoints_.size() - next_);
  connecting_ = true;
  late_ = false;
  wait_until(now + (deadline_ - now) / shares);
  count_.emplace(io_);
  socket_ = tcp::socket(io_->context);
  socket_.async_connect(endpoints_[next_++], [self = shared_from_this()](const ErrorCode& error) {
    self->connecting_ = false;
    if (self->done_) {
      self->on_connected(error);
    }
  });
}

void Dial::on_connected(const ErrorCode& error) {
  count_.reset();
  if (!error && !late_) {
    return open();
  }
  ErrorCode ignored;
  socket_.close(ignored);
  last_failure_ = fmt::format(
      "{}: {}", to_text(endpoints_[next_ - 1]),
      late_ ? fmt::format("no answer within {:.1f} s", seconds_of(options_.connect_deadline))
            : error.message());
  connect();
}

void Dial::open() {
  timer_.cancel();
  TcpOpening::Options options;
  options.handshake = std::move(handshake_);
  options.tcp = options_;
  options.deadline = deadline_;
  const auto opening = std::make_shared<TcpOpening>(io_, std::move(socket_), std::move(options));
  opening->begin([self = shared_from_this(),
                  raw = opening.get()](Result<TcpOpening::Opened> opened) {
    if (opened) {
      self->end(std::move(opened->link));
    } else {
      self->end(
          (raw->error_is_proven() ? std::move(opened).error() : self->without_proof(opened.error()))
              .with("cannot connect"));
    }
  });
}

/// Whatever a stranger can cause is worth a retry: the peer may listen there later.
Error Dial::without_proof(const Error& why) {
  const auto code = why.code();
  if (!is_final_refusal(code) && code != Errc::data_corruption) {
    return why;
  }
  if (first_->say && !std::exchange(first_->said, true)) {
    first_->say(fmt::format("{}: refused without a proof of the token ({}), retrying: {}", text_,
                            to_string(code), why.what()));
  }
  return {Errc::peer_lost, why.what()};
}

void Dial::end(Result<std::shared_ptr<Link>> result) {
  if (const auto done = std::exchange(done_, nullptr)) {
    ErrorCode ignored;
    io_->remove(this);
    timer_.cancel();
    resolver_.cancel();
    socket_.close(ignored);
    count_.reset();
    done(std::move(result));
  }
}

class TcpDialer final : public Dialer {
 public:
  TcpDialer(std::shared_ptr<TcpIo::State> io, std::string address, HandshakeOptions handshake,
            TcpOptions options, std::function<void(const std::string&)> say)
      : io_(std::move(io)),
        address_(std::move(address)),
        handshake_(std::move(handshake)),
        options_(std::move(options)),
        first_(std::make_shared<FirstRefusal>(FirstRefusal{std::move(say)})) {}

  void dial(Dialled done) override {
    io_->post([attempt = std::make_shared<Dial>(io_, address_, handshake_, options_, first_,
                                                std::move(done))] { attempt->begin(); });
  }

 private:
  const std::shared_ptr<TcpIo::State> io_;
  const std::string address_;
  const HandshakeOptions handshake_;
  const TcpOptions options_;
  const std::shared_ptr<FirstRefusal> first_;
};

}  // namespace

std::shared_ptr<Dialer> make_tcp_dialer(TcpIo& io, std::string address, HandshakeOptions handshake,
                                        TcpOptions options,
                                        std::function<void(const std::string&)> say) {
  return std::make_shared<TcpDialer>(io.state(), std::move(address), std::move(handshake),
                                     std::move(options), std::move(say));
}

}  // namespace troupe::net
