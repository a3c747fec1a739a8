#include "launcher/processes/local_address.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe {
namespace {

/// The numeric address of this end of `socket`.
std::string own_address(int socket, int family) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  std::array<char, NI_MAXHOST> text{};
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text.data(), text.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return "";
  }
  return family == AF_INET6 ? fmt::format("[{}]", text.data()) : std::string(text.data());
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<AddressList> addresses_of(const std::string& host, const char* port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  if (const int problem = getaddrinfo(host.c_str(), port, &hints, &list); problem != 0) {
    return Error(Errc::not_found, fmt::format("{}: {}", host, gai_strerror(problem)));
  }
  return AddressList(list, &freeaddrinfo);
}

}  // namespace

Result<std::string> local_address_towards(const std::string& host) {
  TROUPE_ASSIGN_OR_RETURN(const auto list, addresses_of(host, "9"));
  int error = 0;
  for (const auto* at = list.get(); at != nullptr; at = at->ai_next) {
    const int fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
      error = errno;
    } else if (auto own = own_address(fd, at->ai_family); !own.empty()) {
      close(fd);
      return own;
    }
    if (fd >= 0) {
      close(fd);
    }
  }
  return Error(Errc::not_found, fmt::format("{}: no way to it: {}", host, std::strerror(error)));
}

bool is_own_address(const std::string& host) {
  const auto list = addresses_of(host, "0");
  for (const auto* at = list ? list->get() : nullptr; at != nullptr; at = at->ai_next) {
    // A socket can be bound to the host's own addresses alone.
    const int fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool own = fd >= 0 && bind(fd, at->ai_addr, at->ai_addrlen) == 0;
    if (fd >= 0) {
      close(fd);
    }
    if (own) {
      return true;
    }
  }
  return false;
}

bool has_address(const std::string& host) {
  return addresses_of(host, nullptr).ok();
}

bool is_loopback(const std::string& host) {
  const auto list = addresses_of(host, nullptr);
  for (const auto* at = list ? list->get() : nullptr; at != nullptr; at = at->ai_next) {
    if (at->ai_family == AF_INET) {
      constexpr std::uint32_t loopback_net = 127;
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(at->ai_addr);
      return ntohl(v4->sin_addr.s_addr) >> 24U == loopback_net;
    }
    if (at->ai_family == AF_INET6) {
      return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(at->ai_addr)->sin6_addr);
    }
  }
  return false;
}

std::string host_of_address(const std::string& address) {
  auto host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  return host;
}

}  // namespace troupe
