#pragma once
/// \file handshake.hpp
/// Before any frame, both ends of a new connection prove that they know the job's token and say who
/// they are (design, section 8). Bytes in, bytes out: knows no sockets, so that every transport and
/// the fuzzers can use it. What goes over the wire is in docs/protocol.md.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/net/token.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::net {

/// Who is at one end of a connection.
struct PeerIdentity {
  ProcessId process{};            ///< of the job's layout; the director and agents have ids too
  std::uint32_t incarnation = 0;  ///< counts the processes that had this id, from 1
  std::string address;            ///< where it listens, "HOST:PORT"; empty: nowhere
  friend bool operator==(const PeerIdentity&, const PeerIdentity&) = default;
};

/// What both ends of one handshake have and nobody else.
using SessionKey = std::array<std::byte, 32>;

/// Of the protocol, both ends included; the newest that both speak is taken.
struct VersionRange {
  std::uint16_t oldest = 7;
  std::uint16_t newest = 7;
  friend bool operator==(const VersionRange&, const VersionRange&) = default;
};

struct HandshakeOptions {
  Token token;
  std::string job;        ///< the job's id, at most 64 bytes: both ends must name the same
  std::string transport;  ///< "tcp", "tcp+tls", at most 16 bytes: both ends must use the same
  PeerIdentity self;
  /// The accepting end's last word on an authenticated peer, e.g. `fenced` for an incarnation that
  /// was replaced. Its sentence (1024 bytes of it) is sent to the peer. Empty: all are taken.
  std::function<Status(const PeerIdentity& peer)> admit = {};
  /// The dialling end's expectation; an answer by another process or incarnation is `fenced`.
  /// Incarnation 0: any.
  ProcessId expect_process{};
  std::uint32_t expect_incarnation = 0;
  VersionRange versions = {};
};

/// One end of one handshake.
/// Lifecycle:  dial() or accept(); feed() what arrives and send output() until done() or an error.
///   Options that cannot be used (no token, a text over its bound) are the error of the first feed(),
///   which may be of no bytes
/// Threads:    one
/// Guarantees: never holds more than max_handshake_bytes; compares secrets in constant time; nothing
///   that the peer sent is in an error before it has proved that it knows the token, except
///   numbers; a nonce is used once, so that a recorded handshake is refused. Who does not know the
///   token learns the version, the transport and that this is Troupe, not the job, a process or an
///   address, unless it reads along where there is no TLS
/// \errors  unauthenticated: wrong token, or another job; unimplemented: no common protocol version;
///   invalid_argument: another transport; data_corruption: not a handshake; fenced: not who was
///   expected; whatever `admit` said; the same code and sentence at both ends
class Handshake {
 public:
  static std::unique_ptr<Handshake> dial(HandshakeOptions options);
  static std::unique_ptr<Handshake> accept(HandshakeOptions options);
  virtual ~Handshake() = default;

  /// Takes bytes as they come, in any cut. \returns how many belong to the handshake; the rest is
  /// the link's. After an error every call returns that error; output() may still hold the refusal
  /// that is to be sent.
  virtual Result<std::size_t> feed(std::span<const std::byte> bytes) = 0;
  /// What is to be sent now; empties it.
  virtual std::vector<std::byte> output() = 0;
  /// Both ends are satisfied and all output was taken.
  virtual bool done() const = 0;
  /// \requires done()
  virtual const PeerIdentity& peer() const = 0;
  /// The protocol version that both ends speak. \requires done()
  virtual std::uint16_t version() const = 0;
  /// HMAC-SHA-256, keyed with the token, over all bytes of the handshake. \requires done()
  virtual const SessionKey& session_key() const = 0;
  /// Whether the error comes from a peer that proved that it knows the token. Anybody who holds the
  /// address can cause the others.
  virtual bool error_is_proven() const = 0;
};

/// Of all bytes that one end may send in a handshake.
inline constexpr std::size_t max_handshake_bytes = 4096;

}  // namespace troupe::net
