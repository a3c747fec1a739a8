#include "runtime/net/sim_network.hpp"

#include "tests/runtime/net/net_test_support.hpp"
#include "tests/runtime/net/sizes.hpp"
#include "tests/support/expect.hpp"

#include <atomic>
#include <thread>

namespace troupe::net {
namespace {

using namespace std::chrono_literals;

/// Runs what there is and what comes of it.
void run_all(VirtualDriver& driver) {
  while (driver.next_event() != Clock::time_point::max()) {
    driver.run_until(driver.next_event());
  }
}

/// Two ends on a virtual clock.
struct VirtualPair {
  explicit VirtualPair(const SimLinkOptions& options, bool start = true) {
    std::tie(a, b) = make_sim_link(driver, options);
    at_a = std::make_shared<Recorder>(a);
    at_b = std::make_shared<Recorder>(b);
    if (start) {
      a->start(at_a);
      b->start(at_b);
    }
  }
  ~VirtualPair() {
    a->close(Error(Errc::cancelled, "end of the test"));
    run();
  }
  void run() { run_all(driver); }
  VirtualDriver driver;
  std::shared_ptr<Link> a, b;
  std::shared_ptr<Recorder> at_a, at_b;
};

TEST(VirtualDriver, RunsEventsInOrderOfTimeThenOfCall) {
  VirtualDriver driver;
  const auto t = driver.now();
  std::vector<int> order;
  driver.at(t + 2ms, [&] { order.push_back(3); });
  driver.at(t + 1ms, [&] { order.push_back(1); });
  driver.at(t + 1ms, [&] { order.push_back(2); });
  driver.at(t + 1ms, [&] {
    driver.at(t, [&] { order.push_back(9); });
  });  // past: now, after what is due now

  driver.run_until(t + 1ms);
  EXPECT_EQ(order, (std::vector{1, 2, 9}));
  EXPECT_EQ(driver.now(), t + 1ms);
  EXPECT_EQ(driver.next_event(), t + 2ms);
  driver.run_until(t + 5ms);
  EXPECT_EQ(order, (std::vector{1, 2, 9, 3}));
  EXPECT_EQ(driver.now(), t + 5ms);
  EXPECT_EQ(driver.next_event(), Clock::time_point::max());
}

TEST(RealTimeDriver, RunsEventsInOrderAndNotEarly) {
  std::vector<int> order;
  std::atomic<int> left = 3;
  RealTimeDriver driver;
  const auto t = driver.now();
  driver.at(t + 20ms, [&] { order.push_back(2), --left; });
  driver.at(t + 10ms, [&] { order.push_back(1), --left; });
  driver.at(t + 20ms, [&] { order.push_back(3), --left; });
  while (left > 0) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_GE(driver.now() - t, 20ms);
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(RealTimeDriver, DropsWhatIsQueuedAtItsEnd) {
  const auto held = std::make_shared<int>(1);
  {
    RealTimeDriver driver;
    driver.at(driver.now() + 1h, [held] { FAIL(); });
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(SimLink, DeliversAfterTheLatency) {
  VirtualPair pair({.latency = 50us});
  const auto t = pair.driver.now();
  const Frame frame = make_frame(TrafficClass::samples, 1, {1000});

  pair.a->send(Frame(frame));
  EXPECT_TRUE(pair.at_b->frames.empty());
  pair.run();

  ASSERT_EQ(pair.at_b->frames.size(), 1U);
  EXPECT_TRUE(same_contents(pair.at_b->frames[0], frame));
  EXPECT_EQ(pair.at_b->times[0], t + 50us);
  EXPECT_TRUE(pair.at_a->frames.empty());
}

/// A clock that events may be late on, as the thread of RealTimeDriver is on a busy machine.
class LateDriver final : public SimDriver {
 public:
  Clock::time_point now() const override { return std::max(reached_, events_.now()); }
  void at(Clock::time_point t, std::function<void()> f) override { events_.at(t, std::move(f)); }
  /// Moves the clock and runs nothing.
  void fall_behind(Clock::duration by) { reached_ = now() + by; }
  void run() { run_all(events_); }

 private:
  VirtualDriver events_;
  Clock::time_point reached_{};
};

TEST(SimLink, NothingArrivesBeforeItsLatencyWhereTheDriverIsLate) {
  LateDriver driver;
  const auto [a, b] = make_sim_link(driver, {.latency = 5ms});
  const auto at_b = std::make_shared<Recorder>(b);
  a->start(std::make_shared<Recorder>(a));
  b->start(at_b);
  const auto t = driver.now();

  a->send(make_frame(TrafficClass::samples, 1, {100}));
  driver.fall_behind(3ms);
  a->send(make_frame(TrafficClass::samples, 2, {100}));
  driver.run();

  ASSERT_EQ(at_b->times.size(), 2U);
  EXPECT_GE(at_b->times[0], t + 5ms);
  EXPECT_GE(at_b->times[1], t + 8ms);
  a->close(Error(Errc::cancelled, "end of the test"));
  driver.run();
}

TEST(SimLink, TakesExactlySizeOverBandwidthPlusLatency) {
  VirtualPair pair({.latency = 7us, .bytes_per_second = 1e9});
  const auto t = pair.driver.now();
  const Frame frame = make_frame(TrafficClass::rows, 1, {3 * mib});
  const auto pieces = (frame.size_bytes() + max_piece_bytes - 1) / max_piece_bytes;
  const std::chrono::nanoseconds leaving(frame.size_bytes() + pieces * sizeof(PieceHeader));

  pair.a->send(Frame(frame));
  pair.a->send(Frame(frame));
  pair.b->send(Frame(frame));  // the other direction has its own bandwidth
  pair.run();

  ASSERT_EQ(pair.at_b->frames.size(), 2U);
  const std::chrono::nanoseconds last_piece(frame.size_bytes() % max_piece_bytes +
                                            sizeof(PieceHeader));
  EXPECT_EQ(pair.at_b->times[0], t + 2 * leaving - last_piece + 7us) << "they take turns";
  EXPECT_EQ(pair.at_b->times[1], t + 2 * leaving + 7us);
  ASSERT_EQ(pair.at_a->frames.size(), 1U);
  EXPECT_EQ(pair.at_a->times[0], t + leaving + 7us);
}

TEST(SimLink, AnIdleLinkStartsAtOnceAndABusyOneWaits) {
  VirtualPair pair({.bytes_per_second = 1e9});
  const auto t = pair.driver.now();
  const Frame frame =
      make_frame(TrafficClass::control, 1, {908}, 0);  // 988 bytes, with the piece header 1000

  pair.a->send(Frame(frame));
  pair.driver.run_until(t + 500ns);
  pair.a->send(Frame(frame));
  pair.driver.run_until(t + 10us);
  pair.a->send(Frame(frame));
  pair.run();

  EXPECT_EQ(pair.at_b->times, (std::vector{t + 1us, t + 2us, t + 11us}));
}

TEST(SimLink, AControlFramePassesALargeFrameWithinTwoPieces) {
  VirtualPair pair({.latency = 1us, .bytes_per_second = 1e9});
  const auto t = pair.driver.now();

  pair.a->send(make_frame(TrafficClass::rows, 1, {64 * mib}));
  pair.driver.run_until(t + 5ms);
  pair.a->send(make_frame(TrafficClass::control, 2, {}));
  pair.run();

  ASSERT_EQ(pair.at_b->frames.size(), 2U);
  EXPECT_EQ(pair.at_b->frames[0].head.request, 2U);
  const auto piece_time = std::chrono::nanoseconds(max_piece_bytes + sizeof(PieceHeader));
  EXPECT_LE(pair.at_b->times[0], t + 5ms + 2 * piece_time + 2us);
  EXPECT_GE(pair.at_b->times[1], t + 64ms);
}

TEST(SimLink, CarriesAnySizeWithBothKindsOfBandwidth) {
  for (const double bandwidth : {0.0, 25e9 / 8}) {
    VirtualPair pair({.latency = 3us, .bytes_per_second = bandwidth});
    std::vector<Frame> sent;
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{4095}, max_piece_bytes, mib + 1, 5 * mib, 64 * mib}) {
      sent.push_back(make_frame(TrafficClass::rows, sent.size() + 1, {bytes, bytes % 7}));
    }
    for (const auto& frame : sent) {
      pair.a->send(Frame(frame));
    }
    pair.run();

    ASSERT_EQ(pair.at_b->frames.size(), sent.size());
    for (const auto& frame : pair.at_b->frames) {
      EXPECT_TRUE(same_contents(frame, sent.at(frame.head.request - 1))) << frame.head.request;
    }
  }
}

TEST(SimLink, ManyTinyFramesFitTheirBlocks) {
  VirtualPair pair({});
  for (std::uint64_t i = 1; i <= 30'000; ++i) {
    pair.a->send(make_frame(static_cast<TrafficClass>(i % 4), i, {}, 0));
  }
  pair.run();
  EXPECT_EQ(pair.at_b->frames.size(), 30'000U);
}

TEST(SimLink, RepeatsExactlyOnAVirtualClock) {
  const auto run = [] {
    VirtualPair pair({.latency = 11us, .bytes_per_second = 3e9});
    for (std::uint64_t i = 1; i <= 50; ++i) {
      (i % 3 == 0 ? pair.b : pair.a)
          ->send(make_frame(static_cast<TrafficClass>(i % 4), i, {i * 10'000}));
    }
    pair.run();
    std::vector<std::pair<std::uint64_t, Clock::rep>> trace;
    for (const auto& end : {pair.at_a, pair.at_b}) {
      for (std::size_t i = 0; i < end->frames.size(); ++i) {
        trace.emplace_back(end->frames[i].head.request, end->times[i].time_since_epoch().count());
      }
    }
    return trace;
  };
  const auto first = run();
  EXPECT_EQ(first.size(), 50U);
  EXPECT_EQ(first, run());
}

TEST(SimLink, CloseTellsBothEndsOnceAfterTheLatency) {
  VirtualPair pair({.latency = 20us});
  const auto t = pair.driver.now();

  pair.a->close(Error(Errc::cancelled, "done with it"));
  pair.b->close(Error(Errc::internal, "too late to matter"));
  EXPECT_TRUE(pair.at_a->downs.empty());
  pair.run();

  for (const auto& end : {pair.at_a, pair.at_b}) {
    ASSERT_EQ(end->downs.size(), 1U);
    EXPECT_EQ(end->downs[0].code(), Errc::cancelled);
    EXPECT_EQ(end->downs[0].what(), "done with it");
    EXPECT_EQ(end->down_time, t + 20us);
  }
}

TEST(SimLink, WhatLeftBeforeTheCloseArrivesAndNothingAfterIt) {
  VirtualPair pair({.latency = 20us});
  pair.a->send(make_frame(TrafficClass::control, 1, {}));
  pair.driver.run_until(pair.driver.now() + 1us);
  pair.a->close(Error(Errc::cancelled, "done"));
  pair.a->send(make_frame(TrafficClass::control, 2, {}));
  pair.b->send(make_frame(TrafficClass::control, 3, {}));
  pair.run();

  ASSERT_EQ(pair.at_b->frames.size(), 1U);
  EXPECT_EQ(pair.at_b->frames[0].head.request, 1U);
  EXPECT_TRUE(pair.at_a->frames.empty());
}

TEST(SimLink, LetsItsEventsGoAfterDown) {
  VirtualPair pair({});
  const std::weak_ptr<Recorder> weak = pair.at_a;
  pair.a->close(Error(Errc::cancelled, "done"));
  pair.at_a.reset();
  EXPECT_FALSE(weak.expired());
  pair.run();
  EXPECT_TRUE(weak.expired());
  pair.at_a = std::make_shared<Recorder>();
}

TEST(SimLink, KeepsWhatArrivesBeforeStart) {
  VirtualPair pair({.latency = 1us}, false);
  pair.a->start(pair.at_a);
  pair.a->send(make_frame(TrafficClass::control, 1, {10}));
  pair.a->send(make_frame(TrafficClass::rows, 2, {mib}));
  pair.run();
  EXPECT_TRUE(pair.at_b->frames.empty());

  pair.b->start(pair.at_b);
  EXPECT_TRUE(pair.at_b->frames.empty()) << "never on the caller's stack";
  pair.run();
  EXPECT_EQ(pair.at_b->frames.size(), 2U);
}

TEST(SimLink, AnEndStartedAfterTheCloseIsTold) {
  VirtualPair pair({.latency = 1us}, false);
  pair.a->start(pair.at_a);
  pair.a->close(Error(Errc::peer_lost, "gone"));
  pair.run();
  pair.b->start(pair.at_b);
  pair.run();
  ASSERT_EQ(pair.at_b->downs.size(), 1U);
  EXPECT_EQ(pair.at_b->downs[0].what(), "gone");
}

TEST(SimLink, TimersRunOnlyWhileItIsUp) {
  VirtualPair pair({.latency = 5us});
  const auto t = pair.driver.now();
  std::vector<Clock::time_point> fired;
  pair.a->after(3us, [&] { fired.push_back(pair.a->now()); });
  pair.a->after(1ms, [&] { fired.push_back(pair.a->now()); });
  pair.driver.run_until(t + 10us);
  pair.a->close(Error(Errc::cancelled, "done"));
  pair.run();
  EXPECT_EQ(fired, (std::vector{t + 3us}));
}

TEST(SimLink, CorruptBytesCloseItAtBothEnds) {
  int blocks = 0;
  SimLinkOptions options{.latency = 1us};
  options.tamper = [&](int to, std::span<std::byte> block) {
    if (to == 1 && ++blocks == 2) {
      block[20] ^= std::byte{1};
    }
  };
  VirtualPair pair(options);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    pair.a->send(make_frame(TrafficClass::control, i, {}));
    pair.driver.run_until(pair.driver.now() + 10us);
  }
  pair.run();

  EXPECT_EQ(pair.at_b->frames.size(), 1U);
  for (const auto& end : {pair.at_a, pair.at_b}) {
    ASSERT_EQ(end->downs.size(), 1U);
    EXPECT_EQ(end->downs[0].code(), Errc::data_corruption);
    EXPECT_NE(end->downs[0].what().find("checksum"), std::string::npos);
  }
}

TEST(SimLink, AFrameOverTheLimitClosesIt) {
  VirtualPair pair({.limits = {.max_frame_bytes = 1000}});
  pair.a->send(make_frame(TrafficClass::control, 1, {2000}));
  pair.run();
  ASSERT_EQ(pair.at_a->downs.size(), 1U);
  EXPECT_NE(pair.at_a->downs[0].what().find("max_frame_bytes"), std::string::npos);
}

TEST(SimLink, KeepsOrderOfSmallFramesPerClassFromManyThreadsInRealTime) {
  RealTimeDriver driver;
  const auto link = make_sim_link(driver, {.latency = 20us, .bytes_per_second = 1e10});
  const auto at_a = std::make_shared<Recorder>();
  const auto at_b = std::make_shared<Recorder>();
  link.first->start(at_a);
  link.second->start(at_b);
  constexpr std::uint64_t per_thread = 500;
  {
    std::vector<std::jthread> threads;
    for (std::size_t c = 0; c < traffic_classes; ++c) {
      threads.emplace_back([&link, c] {
        for (std::uint64_t i = 1; i <= per_thread; ++i) {
          link.first->send(
              make_frame(static_cast<TrafficClass>(c), i, {i % 50 == 0 ? mib : 10 * i}));
        }
      });
    }
  }
  EXPECT_TRUE(at_b->wait([](auto& r) { return r.frames.size() == traffic_classes * per_thread; }));
  link.second->close(Error(Errc::cancelled, "done"));
  for (const auto& end : {at_a, at_b}) {
    EXPECT_TRUE(end->wait([](auto& r) { return r.downs.size() == 1; }));
  }

  std::array<std::uint64_t, traffic_classes> last{};
  for (const auto& frame : at_b->frames) {
    auto& before = last[static_cast<std::size_t>(frame.head.traffic)];
    if (frame.head.request % 50 != 0) {
      EXPECT_GT(frame.head.request, before);
      before = frame.head.request;
    }
  }
}

TEST(SimLink, ASmallBufferWaitsForTheReceiver) {
  VirtualPair pair({.latency = 10us, .bytes_per_second = 1e9, .buffer_bytes = 16384}, false);
  pair.a->start(pair.at_a);
  const auto t = pair.driver.now();
  const Frame frame = make_frame(TrafficClass::rows, 1, {mib});
  pair.a->send(Frame(frame));
  pair.run();
  EXPECT_LT(pair.driver.now(), t + 50us) << "no further than the buffer";

  pair.b->start(pair.at_b);
  pair.run();
  ASSERT_EQ(pair.at_b->frames.size(), 1U);
  EXPECT_TRUE(same_contents(pair.at_b->frames[0], frame));
}

TEST(SimLink, ASmallBufferBoundsTheRateByTheRoundTrip) {
  VirtualPair pair({.latency = 100us, .bytes_per_second = 1e12, .buffer_bytes = 10'000});
  const auto t = pair.driver.now();
  for (std::uint64_t i = 1; i <= 4; ++i) {
    pair.a->send(make_frame(TrafficClass::rows, i, {mib}));
  }
  pair.run();
  ASSERT_EQ(pair.at_b->frames.size(), 4U);
  const auto took = pair.at_b->times[3] - t;
  EXPECT_GE(took, 200us * (4 * mib / 10'000 - 1));
  EXPECT_LE(took, 200us * (4 * mib / 5'000));
}

TEST(SimLink, FramesPassBothWaysThroughSmallBuffers) {
  for (const double bandwidth : {0.0, 1e9}) {
    VirtualPair pair({.latency = 5us, .bytes_per_second = bandwidth, .buffer_bytes = 1000});
    for (std::uint64_t i = 1; i <= 40; ++i) {
      (i % 2 == 0 ? pair.a : pair.b)
          ->send(make_frame(static_cast<TrafficClass>(i % 3), i, {i * 7001}));
    }
    pair.run();
    EXPECT_EQ(pair.at_a->frames.size(), 20U);
    EXPECT_EQ(pair.at_b->frames.size(), 20U);
  }
}

TEST(SimLink, HoldsItsBandwidthInRealTime) {
  RealTimeDriver driver;
  const auto link = make_sim_link(driver, {.latency = 1ms, .bytes_per_second = 200e6});
  const auto at_b = std::make_shared<Recorder>(link.second);
  link.second->start(at_b);
  const auto t = driver.now();
  link.first->send(make_frame(TrafficClass::rows, 1, {10'000'000}));
  EXPECT_TRUE(at_b->wait([](auto& r) { return r.frames.size() == 1; }));

  EXPECT_GE(at_b->times[0] - t, 51ms);
  EXPECT_LT(at_b->times[0] - t, 2s);
  link.first->close(Error(Errc::cancelled, "done"));
  EXPECT_TRUE(at_b->wait([](auto& r) { return r.downs.size() == 1; }));
}

}  // namespace
}  // namespace troupe::net
