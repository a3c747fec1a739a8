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

}  // namespace troupe::net
