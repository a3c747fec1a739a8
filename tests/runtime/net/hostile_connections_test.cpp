// Whoever connects without belonging to the job: floods, slow senders, random bytes. They are refused,
// said once per peer and code, hold little memory, and a running link does not notice.
#include "tests/runtime/net/link_world.hpp"
#include "tests/runtime/net/sizes.hpp"
#include "tests/support/flood.hpp"

#include <set>

namespace troupe::net {
namespace {

/// A listener with one good link that works all the time.
class HostileConnections : public ::testing::TestWithParam<bool> {
 protected:
  void open(std::size_t max_handshakes, Clock::duration connect_deadline) {
    TcpListenerOptions options;
    options.max_handshakes = max_handshakes;
    tls_ = GetParam() ? test_certificate() : nullptr;
    options.tcp.tls = tls_;
    options.tcp.heartbeat = 100ms;
    options.tcp.lost_after = 20s;
    options.say = [this](const std::string& line) {
      const std::lock_guard guard(mutex_);
      said_.push_back(line);
    };
    auto tcp = options.tcp;
    tcp.connect_deadline = 20s;
    options.tcp.connect_deadline = connect_deadline;
    auto opened =
        TcpListener::open(far_, "127.0.0.1:0", test_handshake(2), options, accepted_.on_link());
    ASSERT_OK(opened);
    listener_ = *std::move(opened);
    dialer_ = make_tcp_dialer(near_, listener_->address(), test_handshake(1), tcp);
    auto link = dial(*dialer_);
    ASSERT_OK(link);
    ends_ = std::make_unique<StartedEnds>(LinkEnds{*link, accepted_.next().first});
    port_ = testing::port_of(listener_->address());
    rounds_ = 0;
  }
  void TearDown() override { listener_.reset(); }  // after which nothing is said
  /// The good link carries a frame there and one back.
  void expect_undisturbed() {
    const auto before = ++rounds_;
    ends_->a->send(make_frame(TrafficClass::rows, before, {100'000}));
    ends_->b->send(make_frame(TrafficClass::rows, before, {100'000}));
    for (const auto& at : {ends_->at_a, ends_->at_b}) {
      ASSERT_TRUE(at->wait([&](auto& r) { return r.frames.size() == before || !r.downs.empty(); }));
      ASSERT_TRUE(at->downs.empty()) << at->downs[0].what();
    }
  }
  void expect_new_links_are_taken() {
    Result<std::shared_ptr<Link>> link = Error(Errc::not_found, "not tried");
    for (const auto end = Clock::now() + 30s; !link.ok() && Clock::now() < end;) {
      link = dial(*dialer_);
    }
    ASSERT_OK(link);
    const StartedEnds ends({*link, accepted_.next().first});
  }
  std::vector<std::string> said() {
    const std::lock_guard guard(mutex_);
    return said_;
  }
  std::size_t said_with(const std::string& code) {
    std::size_t count = 0;
    for (const auto& line : said()) {
      EXPECT_NE(line.find("127.0.0.1"), std::string::npos) << line;
      count += line.find("refused (" + code + ")") != std::string::npos ? 1U : 0U;
    }
    return count;
  }
  int connect() const { return testing::connect_to(port_); }

  std::shared_ptr<const TlsContext> tls_;
  AcceptedLinks accepted_;
  TcpIo far_;
  TcpIo near_;
  std::unique_ptr<TcpListener> listener_;
  std::shared_ptr<Dialer> dialer_;
  std::unique_ptr<StartedEnds> ends_;
  std::uint16_t port_ = 0;
  std::uint64_t rounds_ = 0;
  std::mutex mutex_;
  std::vector<std::string> said_;
};
INSTANTIATE_TEST_SUITE_P(Tcp, HostileConnections, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "with_tls" : "plain"; });

TEST_P(HostileConnections, RandomBytesAreRefusedAndSaidOnce) {
  open(64, 300ms);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    DrawStream stream({{8, 8}}, seed);
    std::vector<std::byte> bytes(1 + stream.below(seed % 2 == 0 ? 40 : 20'000));
    for (auto& byte : bytes) {
      byte = static_cast<std::byte>(stream.below(256));
    }
    const int fd = connect();
    ASSERT_GE(fd, 0);
    testing::send_all(fd, bytes);
    EXPECT_TRUE(testing::closed_by_peer(fd)) << seed;
    ::close(fd);
    expect_undisturbed();
  }
  const auto lines = said();
  EXPECT_GE(lines.size(), 1U);
  EXPECT_LE(lines.size(), 4U) << "one per code";
  EXPECT_EQ(std::set(lines.begin(), lines.end()).size(), lines.size());
  expect_new_links_are_taken();
}

TEST_P(HostileConnections, WhoSendsSlowlyOrNothingIsClosedAtTheDeadline) {
  open(64, 300ms);
  std::vector<int> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(connect());
    ASSERT_GE(silent.back(), 0);
  }
  const int slow = connect();
  auto hello = Handshake::dial(test_handshake(1))->output();
  const auto start = Clock::now();
  std::size_t sent = 0;
  while (sent < hello.size() && Clock::now() - start < 30s) {
    if (!testing::send_all(slow, std::span(hello).subspan(GetParam() ? 0 : sent, 1))) {
      break;
    }
    ++sent;
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_LT(sent, hello.size()) << "it was cut off";
  for (const int fd : silent) {
    EXPECT_TRUE(testing::closed_by_peer(fd));
    ::close(fd);
  }
  ::close(slow);
  EXPECT_EQ(said_with("deadline_exceeded"), 1U);
  expect_undisturbed();
  expect_new_links_are_taken();
}

TEST_P(HostileConnections, AFloodIsTurnedAwayAndHoldsLittle) {
  open(8, 500ms);
  const auto resident = resident_bytes();
  std::vector<int> flood;
  const std::vector<std::byte> block(64 * 1024, std::byte{0x16});
  std::size_t most_sockets = 0;
  for (int i = 0; i < 400; ++i) {
    flood.push_back(connect());
    ASSERT_GE(flood.back(), 0);
    if (i % 3 == 0) {
      ::send(flood.back(), block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    most_sockets = std::max(most_sockets, far_.open_sockets());
    if (i % 50 == 0) {
      expect_undisturbed();
    }
  }
  EXPECT_LE(most_sockets, 2U + 8U + 8U) << "the listener, the link, handshakes, and those refused";
  for (const int fd : flood) {
    EXPECT_TRUE(testing::closed_by_peer(fd));
    ::close(fd);
  }
  EXPECT_LT(resident_bytes(), resident + 32 * mib);
  EXPECT_EQ(said_with("overloaded"), 1U);
  expect_undisturbed();
  expect_new_links_are_taken();
}

TEST_P(HostileConnections, AFloodThatStandsKeepsNobodyOut) {
  for (const bool dripping : {false, true}) {
    open(8, 60s);
    const testing::Flood flood([this] { return std::vector{port_}; },
                               {.connections = 20, .dripping = dripping});
    ASSERT_TRUE(eventually([&] { return flood.opened() > 100; })) << "closed ones come again";

    const auto began = Clock::now();
    expect_new_links_are_taken();

    EXPECT_LT(Clock::now() - began, 10s);
    expect_undisturbed();
  }
}

TEST_P(HostileConnections, WhoIsRefusedAndStaysGivesWayToo) {
  open(8, 60s);
  const std::vector<std::byte> garbage(200, std::byte{'x'});
  std::vector<int> refused;
  for (int i = 0; i < 8; ++i) {
    refused.push_back(connect());
    testing::send_all(refused.back(), garbage);
  }
  ASSERT_TRUE(eventually([&] { return !said().empty(); }));

  const auto link = dial(*dialer_);

  ASSERT_OK(link);
  const StartedEnds ends({*link, accepted_.next().first});
  for (const int fd : refused) {
    ::close(fd);
  }
}

TEST_P(HostileConnections, AWrongTokenIsSaidOnceHoweverOftenItIsTried) {
  open(64, 5s);
  auto wrong = test_handshake(5);
  wrong.token = *Token::random();
  const auto dialer = make_tcp_dialer(near_, listener_->address(), wrong, {.tls = tls_});
  for (int i = 0; i < 30; ++i) {
    const auto link = dial(*dialer);
    ASSERT_FALSE(link.ok());
    EXPECT_EQ(link.error().code(), Errc::peer_lost) << link.error().what();
  }
  const auto end = Clock::now() + 30s;
  while (said().empty() && Clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_EQ(said_with("unauthenticated"), 1U);
  EXPECT_EQ(said().size(), 1U);
  expect_undisturbed();
}

}  // namespace
}  // namespace troupe::net
