#pragma once
/// \file flood.hpp
/// Strangers that hold connections to the ports of a run, and open others for those that are closed.
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <netinet/in.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace troupe::testing {

/// Lifecycle: from the constructor on; the destructor closes all.
class Flood {
 public:
  struct Options {
    std::size_t connections = 100;  ///< per port
    bool dripping = false;          ///< a byte of a handshake every 200 ms, else silent
  };
  /// \param ports  on loopback; called every 100 ms
  Flood(std::function<std::vector<std::uint16_t>()> ports, Options options)
      : ports_(std::move(ports)), options_(options) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    thread_ = std::thread([this] { run(); });
  }
  ~Flood() {
    stop_ = true;
    thread_.join();
    for (const auto& [port, sockets] : sockets_) {
      for (const auto& socket : sockets) {
        ::close(socket.fd);
      }
    }
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  /// Connections that were opened, those in the place of closed ones included.
  std::size_t opened() const { return opened_; }

 private:
  struct Socket {
    int fd = -1;
    std::size_t sent = 0;
  };
  static bool is_closed(int fd) {
    std::array<char, 256> block{};
    const auto n = ::recv(fd, block.data(), block.size(), MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN);
  }
  void open(std::uint16_t port, std::vector<Socket>& sockets) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      sockets.push_back({fd});
      ++opened_;
    } else {
      ::close(fd);
    }
  }
  void drip(Socket& socket) {
    constexpr std::string_view hello = "TRH\x11";  // zeros follow
    const char byte = socket.sent < hello.size() ? hello[socket.sent] : '\0';
    ++socket.sent;
    (void)::send(socket.fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void run() {
    for (int round = 0; !stop_; ++round) {
      if (round % 5 == 0) {
        for (const auto port : ports_()) {
          sockets_[port];
        }
      }
      for (auto& [port, sockets] : sockets_) {
        std::erase_if(sockets, [](const Socket& socket) {
          return is_closed(socket.fd) && ::close(socket.fd) == 0;
        });
        for (auto missing = options_.connections - sockets.size(); missing > 0 && !stop_;
             --missing) {
          open(port, sockets);
        }
        for (auto& socket : sockets) {
          if (options_.dripping && round % 10 == 0) {
            drip(socket);
          }
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  const std::function<std::vector<std::uint16_t>()> ports_;
  const Options options_;
  std::map<std::uint16_t, std::vector<Socket>> sockets_;  // of the thread
  std::atomic<bool> stop_ = false;
  std::atomic<std::size_t> opened_ = 0;
  std::thread thread_;
};

}  // namespace troupe::testing
