#pragma once
/// \file tcp_opening.hpp
/// From a connected socket to an authenticated link: TLS, then the handshake, within a deadline. For
/// the sources of TCP links only.
#include "runtime/net/handshake.hpp"
#include "runtime/net/tcp_stream.hpp"

#include <array>
#include <functional>
#include <memory>
#include <vector>

namespace troupe::net {

/// Lifecycle:  begin(); `done` is called once, unless abandon() came first. An end that fails sends
///   the peer its refusal and lingers for a second at most, so that the peer can read it
/// Threads:    the network thread
/// Guarantees: holds no more than a handshake's bytes
class TcpOpening final : public TcpOpenThing, public std::enable_shared_from_this<TcpOpening> {
 public:
  struct Opened {
    std::shared_ptr<Link> link;
    PeerIdentity peer;
  };
  using Done = std::function<void(Result<Opened>)>;
  struct Options {
    bool accepting = false;
    HandshakeOptions handshake;
    TcpOptions tcp;
    Clock::time_point deadline;
  };
  TcpOpening(std::shared_ptr<TcpIo::State> io, asio::ip::tcp::socket socket, Options options);
  /// Until the peer has proved that it knows the token, or the socket is closed.
  void hold(std::shared_ptr<void> slot) { slot_ = std::move(slot); }
  void begin(Done done);
  void abandon();  ///< closes the socket; `done` is not called
  void io_ends() override;
  bool error_is_proven() const { return handshake_->error_is_proven(); }

 private:
  using ErrorCode = boost::system::error_code;
  void encrypt();
  void answer_in_plain(const ErrorCode& error);
  void talk();
  void write();
  void read();
  void on_read(std::size_t bytes);
  void succeed();
  void fail(Error why, bool say_it);
  void linger();
  void drain();
  void shut();
  void arm(Clock::time_point t, void (TcpOpening::*then)());
  void late();

  const std::shared_ptr<TcpIo::State> io_;
  Options options_;
  Done done_;
  std::shared_ptr<void> slot_;
  std::unique_ptr<TcpStream> stream_;
  std::unique_ptr<Handshake> handshake_;
  asio::steady_timer timer_;
  std::array<std::byte, max_handshake_bytes> in_{};
  std::vector<std::byte> early_;  // of the link
  std::vector<std::byte> out_;
  std::size_t written_ = 0;  // of out_
  std::size_t drained_ = 0;
  bool heard_ = false;
  bool failed_ = false;
  bool over_ = false;  // the socket is a link's, or closed
};

}  // namespace troupe::net
