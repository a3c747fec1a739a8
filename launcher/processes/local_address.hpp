#pragma once
/// \file local_address.hpp
/// Under which of its addresses this host is seen by another.
#include "runtime/base/result.hpp"

#include <string>

namespace troupe {

/// The address that a connection to `host` leaves from; in brackets if it is an IPv6 one. Nothing is
/// sent.
/// \errors not_found: `host` has no address, or there is no way to it
Result<std::string> local_address_towards(const std::string& host);

/// Whether a name or address is one of this host's.
bool is_own_address(const std::string& host);

/// Whether a name or address stands for one, and whether for a loopback address.
bool has_address(const std::string& host);
bool is_loopback(const std::string& host);

/// "HOST" of "HOST:PORT" or "[V6]:PORT", without brackets.
std::string host_of_address(const std::string& address);

}  // namespace troupe
