#pragma once
/// \file handshake_input.hpp
/// A peer's messages as an input: flags (1 byte), bytes per cut (1), then what the peer sends.
/// Flag 1: this end dials, else it accepts; flag 2: proofs are made right, as by a peer that knows
/// the token.
#include "runtime/net/handshake_wire.hpp"

#include "fuzz/target.hpp"

namespace troupe::fuzz {

inline constexpr std::uint8_t handshake_dials = 1;
inline constexpr std::uint8_t handshake_sealed = 2;

/// The end that is tried, or its peer.
inline net::HandshakeOptions handshake_options(std::uint32_t process) {
  net::HandshakeOptions options;
  options.token = *net::Token::parse(std::string(64, '7'));
  options.job = "job";
  options.transport = "tcp";
  options.versions = {1, 2};
  options.self = {ProcessId{process}, 1, "host:7000"};
  return options;
}

}  // namespace troupe::fuzz
