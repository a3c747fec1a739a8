#pragma once
/// \file error_codes.hpp
/// Error codes as peers send them, and what a code of a connection that failed means.
#include "runtime/base/result.hpp"

#include <cstdint>

namespace troupe::net {

/// A code that this program does not know is `internal`.
constexpr Errc errc_from_wire(std::uint64_t code) {
  return code <= static_cast<std::uint64_t>(Errc::unauthenticated) ? static_cast<Errc>(code)
                                                                   : Errc::internal;
}

/// The same where only failures are told: `ok` is `internal`, too.
constexpr Errc failure_from_wire(std::uint64_t code) {
  const auto known = errc_from_wire(code);
  return known == Errc::ok ? Errc::internal : known;
}

/// Whether a peer that answers so will not answer otherwise: connecting again cannot help. Dialers
/// give such a code only if the peer proved that it knows the token.
constexpr bool is_final_refusal(Errc code) {
  return code == Errc::unauthenticated || code == Errc::fenced || code == Errc::unimplemented ||
         code == Errc::invalid_argument;
}

}  // namespace troupe::net
