#include "runtime/net/tcp_address.hpp"

#include <charconv>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

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

bool is_wildcard(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) {
    return false;  // a name
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  if (list->ai_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(list->ai_addr)->sin_addr.s_addr == INADDR_ANY;
  }
  return list->ai_family == AF_INET6 &&
         IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(list->ai_addr)->sin6_addr);
}

Result<TcpAddress> parse_listen_address(std::string_view text) {
  TROUPE_ASSIGN_OR_RETURN(auto address, parse_tcp_address(text));
  if (is_wildcard(address.host)) {
    return Error(Errc::invalid_argument,
                 fmt::format("address \"{}\": expected one that other processes can connect to, "
                             "found one that stands for all addresses of a host; try: the name or "
                             "address under which the other hosts reach this one",
                             text));
  }
  return address;
}

}  // namespace troupe::net
