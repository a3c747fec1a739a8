// What only links over sockets do: signs of life, silence, bytes that were changed on the way,
// nothing left behind.
#include "tests/runtime/net/link_world.hpp"
#include "tests/runtime/net/sizes.hpp"

#include <atomic>
#include <filesystem>
#include <thread>

namespace troupe::net {
namespace {

class SocketLinks : public ::testing::TestWithParam<Transport> {
 protected:
  std::unique_ptr<TcpWorld> world(const WorldOptions& options = {}) {
    auto made = GetParam().make(options);
    return std::unique_ptr<TcpWorld>(static_cast<TcpWorld*>(made.release()));
  }
  void SetUp() override {
    if (const auto why = missing_for(GetParam()); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
};

std::vector<Transport> socket_transports_and_ucx() {
  auto all = socket_transports();
  all.push_back(ucx_transport());
  return all;
}
INSTANTIATE_TEST_SUITE_P(Conformance, SocketLinks, ::testing::ValuesIn(socket_transports_and_ucx()),
                         name_of);

/// Links whose frames pass the proxy, which UCX has only for the handshake.
class ProxiedFrames : public SocketLinks {};
INSTANTIATE_TEST_SUITE_P(Conformance, ProxiedFrames, ::testing::ValuesIn(socket_transports()),
                         name_of);

TEST_P(SocketLinks, HeartbeatsKeepAnIdleLinkUp) {
  const auto w = world({.heartbeat = 50ms, .lost_after = 500ms});
  StartedEnds ends(w->connect_through_proxy());
  std::atomic<std::size_t> beats = 0;
  w->proxy().set_tamper([&](bool, auto) { ++beats; });
  EXPECT_FALSE(ends.at_a->wait_for(1500ms, [](auto& r) { return !r.downs.empty(); }));
  EXPECT_GE(beats, 8U);
  ends.a->send(make_frame(TrafficClass::rows, 1, {mib}));
  EXPECT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == 1; }));
}

TEST_P(SocketLinks, APeerThatFallsSilentIsLostAndNamed) {
  const auto w = world({.heartbeat = 50ms, .lost_after = 300ms});
  StartedEnds ends(w->connect_through_proxy());
  w->proxy().stall(true);
  ASSERT_TRUE(ends.both_down());
  for (const auto& at : {ends.at_a, ends.at_b}) {
    EXPECT_EQ(at->downs[0].code(), Errc::peer_lost);
    EXPECT_NE(at->downs[0].what().find("silent for 0."), std::string::npos) << at->downs[0].what();
    EXPECT_NE(at->downs[0].what().find(" link to process "), std::string::npos);
    EXPECT_NE(at->downs[0].what().find(" at 127.0.0.1:"), std::string::npos);
  }
}

TEST_P(ProxiedFrames, APeerThatFallsSilentInTheMiddleOfAFrameIsLost) {
  const auto w = world({.heartbeat = 50ms, .lost_after = 300ms});
  StartedEnds ends(w->connect_through_proxy());
  std::atomic<std::size_t> passed = 0;
  w->proxy().set_tamper([&](bool, std::span<std::byte> block) { passed += block.size(); });
  ends.a->send(make_frame(TrafficClass::rows, 1, {256 * mib}));
  while (passed < mib) {
    std::this_thread::yield();
  }
  w->proxy().stall(true);
  ASSERT_TRUE(ends.both_down());
  EXPECT_EQ(ends.at_b->downs[0].code(), Errc::peer_lost);
  EXPECT_EQ(ends.at_a->downs[0].code(), Errc::peer_lost);
  EXPECT_TRUE(ends.at_b->frames.empty());
}

TEST_P(SocketLinks, ACutConnectionIsPeerLostAtBothEnds) {
  const auto w = world();
  StartedEnds ends(w->connect_through_proxy());
  ends.a->send(make_frame(TrafficClass::control, 1, {}));
  ASSERT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == 1; }));
  w->cut();
  ASSERT_TRUE(ends.both_down());
  for (const auto& at : {ends.at_a, ends.at_b}) {
    EXPECT_EQ(at->downs[0].code(), Errc::peer_lost) << at->downs[0].what();
  }
}

TEST_P(ProxiedFrames, AStreamThatEndsInsideAFrameIsPeerLost) {
  const auto w = world();
  StartedEnds ends(w->connect_through_proxy());
  std::atomic<std::size_t> passed = 0;
  w->proxy().set_tamper(
      [&](bool to_target, std::span<std::byte> block) { passed += to_target ? block.size() : 0; });
  ends.a->send(make_frame(TrafficClass::rows, 1, {256 * mib}));
  while (passed < mib) {
    std::this_thread::yield();
  }
  w->cut();
  ASSERT_TRUE(ends.both_down());
  EXPECT_TRUE(ends.at_b->frames.empty());
  EXPECT_EQ(ends.at_b->downs[0].code(), Errc::peer_lost);
}

TEST_P(ProxiedFrames, AChangedByteIsFoundAndEndsTheLinkAtBothEnds) {
  const auto w = world({.heartbeat = 10s});
  StartedEnds ends(w->connect_through_proxy());
  ends.a->send(make_frame(TrafficClass::control, 1, {}));
  ASSERT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == 1; }));
  w->proxy().set_tamper([](bool to_target, std::span<std::byte> block) {
    if (to_target && block.size() > 40) {
      block[30] ^= std::byte{1};
    }
  });
  ends.a->send(make_frame(TrafficClass::control, 2, {}));
  ASSERT_TRUE(ends.both_down());
  EXPECT_EQ(ends.at_b->frames.size(), 1U);
  for (const auto& at : {ends.at_a, ends.at_b}) {
    EXPECT_EQ(at->downs[0].code(), Errc::data_corruption) << at->downs[0].what();
    EXPECT_NE(at->downs[0].what().find("checksum"), std::string::npos) << at->downs[0].what();
  }
}

std::size_t descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

void open_and_close(TcpWorld& w, int count) {
  for (int i = 0; i < count; ++i) {
    StartedEnds ends(w.connect());
    ends.a->send(make_frame(TrafficClass::rows, 1, {10'000}));
    ends.b->send(make_frame(TrafficClass::rows, 2, {10'000}));
    ASSERT_TRUE(ends.at_a->wait([](auto& r) { return r.frames.size() == 1; }));
    ASSERT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == 1; }));
  }
}

/// Once none comes or goes any more: what a link over UCX had goes a moment after its socket.
std::size_t settled_descriptors() {
  auto last = descriptors();
  auto since = Clock::now();
  const auto end = since + 10s;
  while (Clock::now() < end && Clock::now() - since < 300ms) {
    std::this_thread::sleep_for(10ms);
    if (const auto now = descriptors(); now != last) {
      last = now;
      since = Clock::now();
    }
  }
  return last;
}

TEST_P(SocketLinks, AThousandLinksLeaveNoDescriptorAndNoMemoryBehind) {
  const auto w = world();
  open_and_close(*w, 100);
  ASSERT_TRUE(eventually([&] { return w->open_sockets() == 0; }));
  const auto open = settled_descriptors();
  const auto resident = resident_bytes();
  open_and_close(*w, 900);
  EXPECT_TRUE(eventually([&] { return w->open_sockets() == 0; }));
  EXPECT_EQ(settled_descriptors(), open);
  EXPECT_LT(resident_bytes(), resident + 64 * mib);
}

TEST_P(SocketLinks, ManyLinksAtOnceDeliverAndClose) {
  const auto w = world();
  open_and_close(*w, 1);  // what the first one opens for all
  ASSERT_TRUE(eventually([&] { return w->open_sockets() == 0; }));
  const auto open = settled_descriptors();
  {
    std::vector<std::unique_ptr<StartedEnds>> all;
    for (int i = 0; i < 100; ++i) {
      all.push_back(std::make_unique<StartedEnds>(w->connect()));
    }
    EXPECT_EQ(w->open_sockets(), 200U);
    for (const auto& ends : all) {
      ends->a->send(make_frame(TrafficClass::rows, 1, {mib}));
    }
    for (const auto& ends : all) {
      EXPECT_TRUE(ends->at_b->wait([](auto& r) { return r.frames.size() == 1; }));
    }
  }
  EXPECT_TRUE(eventually([&] { return descriptors() == open; }));
}

TEST(TcpIo, RunsTimersInOrderAndNotEarly) {
  TcpIo io;
  std::promise<void> done;
  std::vector<int> order;
  const auto t = io.now();
  io.at(t + 20ms, [&] { order.push_back(2); });
  io.at(t + 10ms, [&] { order.push_back(1); });
  io.at(t + 20ms, [&] {
    order.push_back(3);
    done.set_value();
  });
  ASSERT_EQ(done.get_future().wait_for(30s), std::future_status::ready);
  EXPECT_GE(io.now() - t, 20ms);
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(TcpIo, DropsTimersAtItsEnd) {
  const auto held = std::make_shared<int>(1);
  {
    TcpIo io;
    io.at(io.now() + 1h, [held] { FAIL(); });
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(TcpIo, ClosesWhatIsOpenAtItsEnd) {
  AcceptedLinks accepted;
  auto far = std::make_unique<TcpIo>();
  auto near = std::make_unique<TcpIo>();
  ASSERT_OK_AND_ASSIGN(auto listener, TcpListener::open(*far, "127.0.0.1:0", test_handshake(2), {},
                                                        accepted.on_link()));
  ASSERT_OK_AND_ASSIGN(const auto link,
                       dial(*make_tcp_dialer(*near, listener->address(), test_handshake(1), {})));
  const auto other = accepted.next().first;
  const auto at_link = std::make_shared<Recorder>();
  const auto at_other = std::make_shared<Recorder>();
  link->start(at_link);
  other->start(at_other);
  near.reset();
  ASSERT_EQ(at_link->downs.size(), 1U);
  EXPECT_EQ(at_link->downs[0].code(), Errc::cancelled);
  ASSERT_TRUE(at_other->wait([](auto& r) { return r.downs.size() == 1; }));
  EXPECT_EQ(at_other->downs[0].code(), Errc::cancelled);
  link->send(make_frame(TrafficClass::rows, 1, {10}));
  link->close(Error(Errc::internal, "too late"));
  far.reset();
  listener->close();
}

}  // namespace
}  // namespace troupe::net
