#include "runtime/net/handshake_slots.hpp"
#include "runtime/net/tcp_address.hpp"
#include "runtime/net/tcp_opening.hpp"

#include <boost/asio/error.hpp>

#include <fmt/format.h>
#include <future>
#include <optional>
#include <set>

namespace troupe::net {
namespace {

using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::size_t most_said = 1000;
/// Before the next try to accept when there are no descriptors left.
constexpr auto accept_pause = std::chrono::milliseconds(100);

/// What accepts. Lives as long as something is under way on the network thread.
class Acceptor final : public TcpOpenThing, public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(std::shared_ptr<TcpIo::State> io, HandshakeOptions handshake, TcpListenerOptions options,
           TcpListener::OnLink on_link)
      : io_(std::move(io)),
        handshake_(std::move(handshake)),
        options_(std::move(options)),
        on_link_(std::move(on_link)),
        acceptor_(io_->context),
        pause_(io_->context),
        slots_(std::make_shared<HandshakeSlots>(options_.max_handshakes)) {}

  Status listen(const std::string& text);
  const std::string& address() const { return address_; }
  void start() {
    io_->add(shared_from_this());
    accept();
  }
  void stop();
  void io_ends() override { stop(); }

 private:
  Status try_listen(const tcp::endpoint& endpoint);
  void accept();
  void on_accepted(const ErrorCode& error, tcp::socket socket);
  void open(tcp::socket socket);
  void say(const std::string& host, const Error& why);

  const std::shared_ptr<TcpIo::State> io_;
  HandshakeOptions handshake_;
  const TcpListenerOptions options_;
  TcpListener::OnLink on_link_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::optional<SocketCount> count_;
  std::string address_;
  bool stopped_ = false;
  const std::shared_ptr<HandshakeSlots> slots_;
  std::set<std::pair<std::string, Errc>> said_;
};

Status Acceptor::listen(const std::string& text) {
  TROUPE_ASSIGN_OR_RETURN(const auto address, parse_tcp_address(text));
  ErrorCode error;
  tcp::resolver resolver(io_->context);
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, error);
  if (error) {
    return Error(Errc::invalid_argument, fmt::format("address \"{}\": {}", text, error.message()));
  }
  Status listening = ok_status();
  for (const auto& entry : found) {
    listening = try_listen(entry.endpoint());
    if (listening.ok()) {
      break;
    }
  }
  TROUPE_RETURN_IF_ERROR(std::move(listening));
  count_.emplace(io_);
  address_ = to_text(acceptor_.local_endpoint(error));
  if (handshake_.self.address.empty()) {
    handshake_.self.address = address_;
  }
  return ok_status();
}

Status Acceptor::try_listen(const tcp::endpoint& endpoint) {
  ErrorCode error;
  const auto step = [&](auto&& f) {
    if (!error) {
      f();
    }
  };
  step([&] { acceptor_.open(endpoint.protocol(), error); });
  step([&] { acceptor_.set_option(tcp::acceptor::reuse_address(true), error); });
  step([&] { acceptor_.bind(endpoint, error); });
  step([&] { acceptor_.listen(asio::socket_base::max_listen_connections, error); });
  if (!error) {
    return ok_status();
  }
  ErrorCode ignored;
  acceptor_.close(ignored);
  return Error(Errc::failed_precondition,
               fmt::format("cannot listen on {}: {}", to_text(endpoint), error.message()));
}

void Acceptor::stop() {
  if (std::exchange(stopped_, true)) {
    return;
  }
  ErrorCode ignored;
  acceptor_.close(ignored);
  count_.reset();
  pause_.cancel();
  io_->remove(this);
  slots_->close_all();
  on_link_ = nullptr;
}

void Acceptor::accept() {
  acceptor_.async_accept([self = shared_from_this()](const ErrorCode& error, tcp::socket socket) {
    self->on_accepted(error, std::move(socket));
  });
}

void Acceptor::on_accepted(const ErrorCode& error, tcp::socket socket) {
  if (stopped_) {
    return;
  }
  if (!error) {
    open(std::move(socket));
    return accept();
  }
  if (error == asio::error::connection_aborted) {
    return accept();
  }
  say("all", Error(Errc::overloaded, "cannot accept: " + error.message()));
  pause_.expires_after(accept_pause);
  pause_.async_wait([self = shared_from_this()](const ErrorCode&) {
    if (!self->stopped_) {
      self->accept();
    }
  });
}

void Acceptor::open(tcp::socket socket) {
  ErrorCode ignored;
  const auto remote = socket.remote_endpoint(ignored).address();
  const auto host = remote.to_string();
  if (slots_->make_room(host, remote.is_loopback())) {
    say(host, Error(Errc::overloaded,
                    fmt::format("{}: a new connection, with {} handshakes under way; the oldest "
                                "is closed",
                                host, slots_->held() + 1)));
  }
  TcpOpening::Options options;
  options.accepting = true;
  options.handshake = handshake_;
  options.tcp = options_.tcp;
  options.deadline = Clock::now() + options_.tcp.connect_deadline;
  const auto opening = std::make_shared<TcpOpening>(io_, std::move(socket), std::move(options));
  opening->hold(slots_->take(host, [weak = std::weak_ptr(opening)] {
    if (const auto oldest = weak.lock()) {
      oldest->abandon();
    }
  }));
  opening->begin([self = shared_from_this(), host](Result<TcpOpening::Opened> opened) {
    if (!opened) {
      return self->say(host, opened.error());
    }
    const auto on_link = self->on_link_;  // which may close the listener
    on_link(std::move(opened->link), opened->peer);
  });
}

void Acceptor::say(const std::string& host, const Error& why) {
  if (options_.say && said_.size() < most_said && said_.emplace(host, why.code()).second) {
    options_.say(fmt::format("{}: a connection is refused ({}): {}", address_,
                             to_string(why.code()), why.what()));
  }
}

class Listener final : public TcpListener {
 public:
  Listener(std::shared_ptr<TcpIo::State> io, std::shared_ptr<Acceptor> acceptor)
      : io_(std::move(io)), acceptor_(std::move(acceptor)) {}
  // Throws for want of memory only, which ends the process anyway.
  ~Listener() override { stop(); }  // NOLINT(bugprone-exception-escape)
  std::string address() const override { return acceptor_->address(); }
  void close() override { stop(); }

 private:
  /// Waits until the network thread has done it: then the port is free, and nobody is called.
  void stop() {
    if (io_->thread.get_id() == std::this_thread::get_id()) {
      return acceptor_->stop();
    }
    auto stopped = std::make_shared<std::promise<void>>();
    const auto done = stopped->get_future();
    io_->post([acceptor = acceptor_, stopped = std::move(stopped)] { acceptor->stop(); });
    done.wait();  // until the promise is gone: the thread did it, or is ending
  }

  const std::shared_ptr<TcpIo::State> io_;
  const std::shared_ptr<Acceptor> acceptor_;
};

}  // namespace

Result<std::unique_ptr<TcpListener>> TcpListener::open(TcpIo& io, const std::string& address,
                                                       HandshakeOptions handshake,
                                                       TcpListenerOptions options, OnLink on_link) {
  auto acceptor = std::make_shared<Acceptor>(io.state(), std::move(handshake), std::move(options),
                                             std::move(on_link));
  TROUPE_RETURN_IF_ERROR(acceptor->listen(address));
  io.state()->post([acceptor] { acceptor->start(); });
  return std::unique_ptr<TcpListener>(std::make_unique<Listener>(io.state(), std::move(acceptor)));
}

}  // namespace troupe::net
