// Strangers that send TLS hellos as fast as a port takes them: each costs the listener a signature. The links of the
// same network thread must not notice, and a peer that falls silent is found as soon as ever.
#include "tests/runtime/net/link_world.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <openssl/ssl.h>
#include <thread>
#include <vector>

namespace troupe::net {
namespace {

/// The first record that a TLS 1.3 client sends.
std::vector<std::byte> client_hello() {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  &SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), &SSL_free);
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), in, out);  // takes both
  SSL_connect(ssl.get());
  std::vector<std::byte> bytes(static_cast<std::size_t>(BIO_ctrl_pending(out)));
  BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

/// Connects, sends a hello, waits for the answer's first bytes and goes, over and over.
class HelloFlood {
 public:
  explicit HelloFlood(std::uint16_t port) : hello_(client_hello()) {
    for (int i = 0; i < 4; ++i) {
      threads_.emplace_back([this, port] { run(port); });
    }
  }
  ~HelloFlood() {
    stop_ = true;
    for (auto& thread : threads_) {
      thread.join();
    }
  }
  HelloFlood(const HelloFlood&) = delete;
  HelloFlood& operator=(const HelloFlood&) = delete;
  std::size_t answered() const { return answered_; }

 private:
  void run(std::uint16_t port) {
    while (!stop_) {
      const int fd = testing::connect_to(port);
      if (fd < 0) {
        continue;
      }
      const timeval most{1, 0};
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
      std::array<std::byte, 64> answer{};
      testing::send_all(fd, hello_);
      answered_ += ::recv(fd, answer.data(), answer.size(), 0) > 0 ? 1U : 0U;
      const linger reset{1, 0};  // no port stays behind
      ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
      ::close(fd);
    }
  }

  const std::vector<std::byte> hello_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::size_t> answered_ = 0;
  std::vector<std::thread> threads_;
};

/// The longest silence between blocks that pass a proxy towards the dialling end.
class Gaps {
 public:
  void block() {
    const auto now = Clock::now();
    const std::lock_guard guard(mutex_);
    longest_ = last_ == Clock::time_point{} ? longest_ : std::max(longest_, now - last_);
    last_ = now;
  }
  double milliseconds() const {
    const std::lock_guard guard(mutex_);
    return std::chrono::duration<double, std::milli>(longest_).count();
  }

 private:
  mutable std::mutex mutex_;
  Clock::time_point last_{};
  Clock::duration longest_{};
};

TEST(HelloFlood, DelaysNoHeartbeatAndNoDetection) {
  TcpWorld world({.heartbeat = 50ms, .lost_after = 1s}, test_certificate());
  StartedEnds ends(world.connect_through_proxy());
  Gaps gaps;
  world.proxy().set_tamper([&](bool to_target, auto) { to_target ? void() : gaps.block(); });
  const HelloFlood flood(world.port());

  EXPECT_FALSE(ends.at_b->wait_for(3s, [](auto& r) { return !r.downs.empty(); }))
      << ends.at_b->downs[0].what();
  const auto answered = flood.answered();
  EXPECT_GT(answered, 100U);
  world.proxy().stall(true);
  const auto start = Clock::now();
  EXPECT_TRUE(ends.at_b->wait_for(20s, [](auto& r) { return !r.downs.empty(); }));
  const auto detected = std::chrono::duration<double>(Clock::now() - start).count();

  std::printf(
      "%zu hellos/s answered; heartbeats of 50 ms at most %.0f ms apart; silence of 1 s "
      "found after %.2f s\n",
      answered / 3, gaps.milliseconds(), detected);
  EXPECT_LT(detected, 3.0);
}

}  // namespace
}  // namespace troupe::net
