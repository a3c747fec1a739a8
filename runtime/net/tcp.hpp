#pragma once
/// \file tcp.hpp
/// Links over TCP, IPv4 and IPv6, with optional TLS. One listening port per process; one network
/// thread for all links of a process.
#include "runtime/net/handshake.hpp"
#include "runtime/net/link.hpp"
#include "runtime/net/reconnect.hpp"
#include "runtime/net/tls.hpp"
#include "runtime/net/ucx.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace troupe::net {

/// The network thread: sockets and timers.
/// Lifecycle:  the destructor closes all that is open (links tell on_down(cancelled)), then joins
/// Threads:    all members from any thread
class TcpIo final : public Timers {
 public:
  TcpIo();
  ~TcpIo() override;
  Clock::time_point now() const override { return Clock::now(); }
  void at(Clock::time_point t, std::function<void()> f) override;
  /// Sockets open now: links, handshakes under way, listeners.
  std::size_t open_sockets() const;
  /// Messages over UCX that named no link of this process, and were dropped.
  std::size_t ucx_strangers() const;

  struct State;
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

struct TcpOptions {
  FrameLimits limits{};
  /// Something is sent at least this often: with nothing else to say, an empty piece.
  Clock::duration heartbeat = std::chrono::seconds(1);
  /// A link that brings nothing for so long is closed with peer_lost: "… silent for 3.0 s".
  Clock::duration lost_after = std::chrono::seconds(3);
  Clock::duration connect_deadline =
      std::chrono::seconds(5);                      ///< connecting and handshake together
  std::shared_ptr<const TlsContext> tls = nullptr;  ///< null: not encrypted
  /// Whether `tls` is for links inside a machine, too. Both ends tell from their addresses alike, and
  /// must have the same here.
  bool tls_inside = true;
  /// Frames over UCX; its bytes are not encrypted, so that an encrypted link does not use it.
  UcxUse ucx = UcxUse::off;
  /// A line about a link that should use UCX and does not: once per reason.
  std::function<void(const std::string&)> say = {};
};

struct TcpListenerOptions {
  TcpOptions tcp;
  /// Connections without a proof at once. For a further one the oldest is closed, whatever its
  /// address; beyond loopback one address has half of them at most, and then gives up its own oldest.
  std::size_t max_handshakes = 64;
  /// A line about a connection that was refused: once per peer's address and code, at most 1000.
  std::function<void(const std::string&)> say = {};
};

/// Accepts connections.
/// Lifecycle:  open(); close() or the destructor stops accepting and drops handshakes under way;
///   links that were accepted live on
class TcpListener {
 public:
  /// Called on the network thread with an authenticated link that was not started.
  using OnLink = std::function<void(std::shared_ptr<Link>, const PeerIdentity&)>;
  /// \param address  "HOST:PORT", "[V6]:PORT"; port 0: any free one
  /// \param handshake  `transport` and an empty `self.address` are filled in
  /// \errors invalid_argument: not an address; failed_precondition: cannot listen there, with the
  ///   system's reason
  static Result<std::unique_ptr<TcpListener>> open(TcpIo& io, const std::string& address,
                                                   HandshakeOptions handshake,
                                                   TcpListenerOptions options, OnLink on_link);
  virtual ~TcpListener() = default;
  virtual std::string address() const = 0;  ///< with the port that was taken
  virtual void close() = 0;
};

/// Connects to one address; tries all that its name resolves to. For a `Reconnector`.
/// \param say  a line about the first refusal without a proof, which the errors below do not end;
///   on the network thread; may be empty
/// \errors of a dial: peer_lost: cannot connect, with address and the system's reason, or closed or
///   refused without a proof during the handshake; deadline_exceeded; those of Handshake, from a
///   peer that proved that it knows the token
std::shared_ptr<Dialer> make_tcp_dialer(TcpIo& io, std::string address, HandshakeOptions handshake,
                                        TcpOptions options,
                                        std::function<void(const std::string&)> say = {});

}  // namespace troupe::net
