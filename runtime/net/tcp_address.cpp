#include "runtime/net/tcp_address.hpp"

#include <charconv>
#include <fmt/format.h>

namespace troupe::net {

Result<TcpAddress> parse_tcp_address(std::string_view text) {
  const auto wrong = [&](std::string_view what) {
    return Error(Errc::invalid_argument,
                 fmt::format("address \"{}\": {}; try: HOST:PORT, such as 127.0.0.1:4000 or "
                             "[::1]:4000",
                             text, what));
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return wrong("expected a port after a colon");
  }
  auto host = text.substr(0, colon);
  const auto digits = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong("expected an IPv6 address in brackets");
  }
  if (host.empty()) {
    return wrong("expected a host before the colon");
  }
  TcpAddress address{std::string(host), 0};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty()) {
    return wrong("expected a port from 0 to 65535");
  }
  return address;
}

}  // namespace troupe::net
