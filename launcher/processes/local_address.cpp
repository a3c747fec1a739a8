#include "launcher/processes/local_address.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
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

}  // namespace

Result<std::string> local_address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  if (const int problem = getaddrinfo(host.c_str(), "9", &hints, &list); problem != 0) {
    return Error(Errc::not_found, fmt::format("{}: {}", host, gai_strerror(problem)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(list, &freeaddrinfo);
  int error = 0;
  for (const auto* at = list; at != nullptr; at = at->ai_next) {
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

std::string host_of_address(const std::string& address) {
  auto host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  return host;
}

}  // namespace troupe
