#pragma once
/// \file socket_proxy.hpp
/// A proxy between a dialler and a listener on this machine that changes, stalls and cuts what passes.
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <functional>
#include <mutex>
#include <netinet/in.h>
#include <span>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace troupe::testing {

/// A blocking socket, connected to `port` on loopback; -1 if that fails.
inline int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

inline bool send_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

/// Waits up to 30 s for the peer to close.
inline bool closed_by_peer(int fd) {
  const timeval most{30, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  std::array<std::byte, 4096> buffer{};
  for (;;) {
    const auto n = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (n <= 0) {
      return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    }
  }
}

inline std::uint16_t port_of(const std::string& address) {
  return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

/// Makes `listener` a socket that listens at a free port of loopback, which is returned; another may
/// listen there once it is closed.
inline std::uint16_t listen_on_loopback(int& listener) {
  listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(listener, reinterpret_cast<sockaddr*>(&address), size);
  ::listen(listener, 64);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

/// Answers whoever connects with the same bytes and closes: a stranger in the place of a process.
/// Lifecycle: from the constructor on; the destructor frees the port.
class RefusingPort {
 public:
  explicit RefusingPort(std::vector<std::byte> answer) : answer_(std::move(answer)) {
    port_ = listen_on_loopback(listener_);
    thread_ = std::thread([this] { serve(); });
  }
  ~RefusingPort() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  RefusingPort(const RefusingPort&) = delete;
  RefusingPort& operator=(const RefusingPort&) = delete;
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int answered() const { return answered_; }

 private:
  void serve() {
    for (int fd = 0; (fd = ::accept(listener_, nullptr, nullptr)) >= 0; ++answered_) {
      send_all(fd, answer_);
      ::shutdown(fd, SHUT_WR);
      closed_by_peer(fd);
      ::close(fd);
    }
  }

  const std::vector<std::byte> answer_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> answered_ = 0;
  std::thread thread_;
};

/// Lifecycle: forwards from the constructor on; the destructor cuts everything and joins.
class SocketProxy {
 public:
  /// Sees each block before it is sent on; `to_target` is the direction.
  using Tamper = std::function<void(bool to_target, std::span<std::byte> block)>;

  explicit SocketProxy(std::uint16_t target) : target_(target) {
    port_ = listen_on_loopback(listener_);
    acceptor_ = std::thread([this] { accept(); });
  }
  ~SocketProxy() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    stall(false);
    cut();
    for (auto& thread : threads_) {
      thread.join();
    }
    for (const int fd : all_) {
      ::close(fd);
    }
  }
  SocketProxy(const SocketProxy&) = delete;
  SocketProxy& operator=(const SocketProxy&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void set_tamper(Tamper tamper) {
    const std::lock_guard guard(mutex_);
    tamper_ = std::move(tamper);
  }
  /// Nothing passes any more, and nobody is told.
  void stall(bool on) {
    const std::lock_guard guard(mutex_);
    stalled_ = on;
    changed_.notify_all();
  }
  /// Ends all connections that there are.
  void cut() {
    const std::lock_guard guard(mutex_);
    for (const int fd : all_) {
      ::shutdown(fd, SHUT_RDWR);
    }
  }

 private:
  void accept() {
    for (;;) {
      const int from = ::accept(listener_, nullptr, nullptr);
      if (from < 0 || stopping_) {
        ::close(from);
        return;
      }
      const int to = connect_to(target_);
      const std::lock_guard guard(mutex_);
      all_.push_back(from);
      if (to >= 0) {
        all_.push_back(to);
        threads_.emplace_back([this, from, to] { forward(from, to, true); });
        threads_.emplace_back([this, from, to] { forward(to, from, false); });
      } else {
        ::shutdown(from, SHUT_RDWR);
      }
    }
  }
  void forward(int from, int to, bool to_target) {
    std::vector<std::byte> block(std::size_t{64} << 10);
    for (;;) {
      const auto n = ::recv(from, block.data(), block.size(), 0);
      std::unique_lock guard(mutex_);
      changed_.wait(guard, [&] { return !stalled_; });
      if (n <= 0) {
        ::shutdown(to, SHUT_WR);
        return;
      }
      const auto bytes = std::span(block).first(static_cast<std::size_t>(n));
      if (tamper_) {
        tamper_(to_target, bytes);
      }
      guard.unlock();
      if (!send_all(to, bytes)) {
        ::shutdown(from, SHUT_RDWR);
        return;
      }
    }
  }

  const std::uint16_t target_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<bool> stopping_{false};
  std::thread acceptor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stalled_ = false;
  Tamper tamper_;
  std::vector<int> all_;
  std::vector<std::thread> threads_;
};

}  // namespace troupe::testing
