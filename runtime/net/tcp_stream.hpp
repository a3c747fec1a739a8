#pragma once
/// \file tcp_stream.hpp
/// One connected socket, encrypted or not. For the sources of TCP links only; brings Asio.
#include "runtime/net/tcp.hpp"
#include "runtime/net/tcp_io.hpp"
#include "runtime/net/tls_context.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::net {

/// Threads: the network thread.
class TcpStream {
 public:
  using Socket = asio::ip::tcp::socket;
  /// \param socket  connected
  /// \param tls  null: not encrypted. Must stay alive
  TcpStream(std::shared_ptr<TcpIo::State> io, Socket socket, const TlsContext* tls);
  ~TcpStream() { close(); }

  bool encrypted() const { return tls_.has_value(); }
  const std::string& peer() const { return peer_; }  ///< "HOST:PORT"

  template <class Handler>
  void shake_hands(asio::ssl::stream_base::handshake_type role, Handler handler) {
    tls_->async_handshake(role, std::move(handler));
  }
  /// Into `first`, and what is left into `then`. Encrypted: only into the first that is not empty.
  template <class Handler>
  void read_some(std::span<std::byte> first, std::span<std::byte> then, Handler handler) {
    const std::array<asio::mutable_buffer, 2> buffers{asio::buffer(first.data(), first.size()),
                                                      asio::buffer(then.data(), then.size())};
    if (!tls_) {
      socket_.async_read_some(buffers, std::move(handler));
    } else {
      tls_->async_read_some(first.empty() ? buffers[1] : buffers[0], std::move(handler));
    }
  }
  /// Some of `buffers`, at least a byte. Encrypted: only of the first.
  /// \requires the first one is not empty
  template <class Handler>
  void write_some(std::span<const asio::const_buffer> buffers, Handler handler) {
    if (!tls_) {
      socket_.async_write_some(buffers, std::move(handler));
    } else {
      tls_->async_write_some(buffers.front(), std::move(handler));
    }
  }
  /// What can be written at once, without waiting; 0 if nothing can, or only write_some() knows.
  std::size_t write_now(std::span<const asio::const_buffer> buffers);
  /// Below TLS, for what is only thrown away.
  template <class Handler>
  void read_raw(std::span<std::byte> to, Handler handler) {
    socket_.async_read_some(asio::buffer(to.data(), to.size()), std::move(handler));
  }
  template <class Handler>
  void write_raw(std::span<const std::byte> bytes, Handler handler) {
    socket_.async_write_some(asio::buffer(bytes.data(), bytes.size()), std::move(handler));
  }
  /// Ends a write for which there is no room, and a link without an answer, after this time.
  void set_user_timeout(Clock::duration timeout);
  void shut_down_writing();
  void close();  ///< what is under way ends with operation_aborted
  /// What the failure means: unauthenticated or data_corruption where TLS refused, else peer_lost.
  Error explain(const boost::system::error_code& error) const;
  /// Whether the failure says that the peer's bytes were no TLS at all.
  static bool is_no_tls(const boost::system::error_code& error);

 private:
  std::optional<SocketCount> count_;
  Socket socket_;
  std::optional<asio::ssl::stream<Socket&>> tls_;
  std::string peer_;
};

std::string to_text(const asio::ip::tcp::endpoint& endpoint);

/// Whether both ends of a connection are on this machine: it comes from the address that it goes to, or
/// from loopback. No packet from elsewhere has such an address (a router's martian).
bool stays_inside(const asio::ip::address& one, const asio::ip::address& other);
/// The context that options have for a connected socket; null: it is not encrypted.
const TlsContext* tls_for(const TcpStream::Socket& socket, const TcpOptions& options);

}  // namespace troupe::net
