#pragma once
/// \file handshake_wire.hpp
/// The bytes of a handshake: six messages, each of one size, that Handshake, its tests and its fuzz
/// target share (docs/protocol.md, "Handshake").
#include "runtime/net/handshake.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::net::handshake {

/// The first four bytes of a message: "TRH" and one more, any two of which differ in four bits or more.
enum class Kind : std::uint8_t {
  hello = 0x11,      ///< dialling end: what it speaks, a nonce
  challenge = 0x22,  ///< accepting end: the version, a nonce, its proof
  claim = 0x44,      ///< dialling end: who it is, whom it expects, its proof
  accepted = 0x88,   ///< accepting end: who it is, its proof
  refused = 0x77,    ///< either end, at any point: a number that says why
  denied = 0xBB,     ///< accepting end, after a good claim: an error, with a proof
};

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;

inline constexpr std::size_t max_transport_bytes = 16;
inline constexpr std::size_t max_job_bytes = 64;
inline constexpr std::size_t max_address_bytes = 260;  ///< a name of 253 bytes, a colon, a port
inline constexpr std::size_t max_sentence_bytes = 1024;

struct Hello {
  VersionRange versions;
  std::string transport;
  Nonce nonce{};
  friend bool operator==(const Hello&, const Hello&) = default;
};
struct Challenge {
  std::uint16_t version = 0;
  Nonce nonce{};
};
struct Claim {
  PeerIdentity self;
  ProcessId expect_process{};
  std::uint32_t expect_incarnation = 0;  ///< 0: any process
  std::string job;
};
struct Accepted {
  PeerIdentity self;
};
struct Denied {
  std::uint8_t code = 0;  ///< an Errc
  std::string sentence;
};

/// Why an end refused before both had proved that they know the token. Each end makes the sentence
/// itself, so that no stranger's text is shown.
enum class Reason : std::uint8_t { not_a_handshake = 1, versions = 2, transport = 3, token = 4 };
struct Refused {
  Reason reason{};
  VersionRange versions;  ///< of the end that refuses; 0 to 0 unless that is the reason
};

/// Of a whole message, with its first four bytes and its proof.
constexpr std::size_t size_of(Kind kind) {
  constexpr std::size_t head = 4;
  constexpr std::size_t proof = sizeof(Proof);
  constexpr std::size_t identity = 4 + 4 + 2 + max_address_bytes;
  switch (kind) {
    case Kind::hello:
      return head + 4 + 2 + max_transport_bytes + sizeof(Nonce);
    case Kind::challenge:
      return head + 2 + sizeof(Nonce) + proof;
    case Kind::claim:
      return head + identity + 4 + 4 + 2 + max_job_bytes + proof;
    case Kind::accepted:
      return head + identity + proof;
    case Kind::refused:
      return head + 1 + 4;
    case Kind::denied:
      return head + 1 + 2 + max_sentence_bytes + proof;
  }
  return 0;
}
static_assert(size_of(Kind::hello) + size_of(Kind::challenge) + size_of(Kind::claim) +
                  size_of(Kind::denied) <=
              max_handshake_bytes);

/// The kind of a message by its first bytes, at most four: nothing while they could still become
/// one.
/// \errors data_corruption: they cannot
Result<std::optional<Kind>> kind_of(std::span<const std::byte> first);

/// \requires texts and ranges are within their bounds. A place for the proof is left out
std::vector<std::byte> encode(const Hello& message);
std::vector<std::byte> encode(const Challenge& message);
std::vector<std::byte> encode(const Claim& message);
std::vector<std::byte> encode(const Accepted& message);
std::vector<std::byte> encode(const Refused& message);
std::vector<std::byte> encode(const Denied& message);

/// \param message  of size_of() bytes; its proof is not looked at
/// \errors data_corruption: a length over its bound, bytes after a text, an impossible number
Result<Hello> decode_hello(std::span<const std::byte> message);
Result<Challenge> decode_challenge(std::span<const std::byte> message);
Result<Claim> decode_claim(std::span<const std::byte> message);
Result<Accepted> decode_accepted(std::span<const std::byte> message);
Result<Refused> decode_refused(std::span<const std::byte> message);
Result<Denied> decode_denied(std::span<const std::byte> message);

/// HMAC-SHA-256, keyed with `token`, over the name of `kind` and all bytes of the handshake so far:
/// whole messages in the order of sending, then that message without its proof.
/// \errors internal: the library failed
Result<Proof> prove(const Token& token, Kind kind, std::span<const std::byte> so_far);

/// HMAC-SHA-256 over a label and bytes.
/// \errors internal: the library failed
Result<Proof> keyed_hash(std::span<const std::byte> key, std::string_view label,
                         std::span<const std::byte> bytes);

/// In constant time.
bool same(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace troupe::net::handshake
