#include "tests/support/eavesdropper.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <net/ethernet.h>
#include <sched.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <vector>

namespace troupe::testing {
namespace {

constexpr int buffer_bytes = 64 << 20;
constexpr timeval poll_time{.tv_sec = 0, .tv_usec = 50'000};

/// A socket of all packets, in a namespace; -1: errno says why. The calling thread goes there.
int packet_socket(const std::string& space) {
  if (!space.empty()) {
    const int there = ::open(("/run/netns/" + space).c_str(), O_RDONLY | O_CLOEXEC);
    const bool entered = there >= 0 && ::setns(there, CLONE_NEWNET) == 0;
    if (there >= 0) {
      ::close(there);
    }
    if (!entered) {
      return -1;
    }
  }
  const int made = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
  if (made >= 0) {
    ::setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof buffer_bytes);
    ::setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &poll_time, sizeof poll_time);
  }
  return made;
}

}  // namespace

Eavesdropper::Eavesdropper(std::string text, const std::string& space) : text_(std::move(text)) {
  std::thread([&] {  // namespaces belong to threads
    socket_ = packet_socket(space);
    problem_ = socket_ < 0 ? std::string("cannot read packets: ") + std::strerror(errno) : "";
  })
      .join();
  if (socket_ >= 0) {
    thread_ = std::thread([this] { listen(); });
  }
}

Eavesdropper::~Eavesdropper() {
  over_ = true;
  if (thread_.joinable()) {
    thread_.join();
  }
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

void Eavesdropper::listen() {
  std::vector<char> packet(std::size_t{256} << 10);
  while (!over_) {
    const auto bytes = ::recv(socket_, packet.data(), packet.size(), 0);
    if (bytes <= 0) {
      continue;
    }
    ++packets_;
    const std::string_view seen(packet.data(), static_cast<std::size_t>(bytes));
    found_ += seen.find(text_) != std::string_view::npos ? 1U : 0U;
  }
}

}  // namespace troupe::testing
