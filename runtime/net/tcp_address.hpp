#pragma once
/// \file tcp_address.hpp
/// "HOST:PORT" and "[V6]:PORT".
#include "runtime/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::net {

struct TcpAddress {
  std::string host;  ///< a name or an address, without brackets
  std::uint16_t port = 0;
};

/// \errors invalid_argument
Result<TcpAddress> parse_tcp_address(std::string_view text);

/// Whether `host` is 0.0.0.0, or IPv6's ::, in any notation: a socket listens there on all addresses, but no other
/// host can connect to it.
bool is_wildcard(const std::string& host);
/// An address to listen at, which other processes connect to. \errors invalid_argument, also for a wildcard
Result<TcpAddress> parse_listen_address(std::string_view text);

}  // namespace troupe::net
