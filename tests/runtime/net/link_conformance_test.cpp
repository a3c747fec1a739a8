// What every link must do, over all transports.
#include "tests/runtime/net/link_world.hpp"
#include "tests/runtime/net/sizes.hpp"

#include <array>
#include <atomic>
#include <thread>

namespace troupe::net {
namespace {

class Links : public ::testing::TestWithParam<Transport> {
 protected:
  void SetUp() override {
    if (const auto why = missing_for(GetParam()); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
  std::unique_ptr<LinkWorld> world(const WorldOptions& options = {}) {
    return GetParam().make(options);
  }
};
INSTANTIATE_TEST_SUITE_P(Conformance, Links, ::testing::ValuesIn(all_transports()), name_of);

TEST_P(Links, FramesOfOnePieceKeepTheirOrderInAClass) {
  const auto w = world();
  StartedEnds ends(w->connect());
  constexpr std::uint64_t count = 2000;
  for (std::uint64_t i = 1; i <= count; ++i) {
    ends.a->send(make_frame(static_cast<TrafficClass>(i % 4), i, {i % 10 == 0 ? 400 * kib : i}));
  }
  ASSERT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == count; }));

  std::array<std::uint64_t, traffic_classes> last{};
  for (const auto& frame : ends.at_b->frames) {
    if (frame.head.request % 10 != 0) {
      auto& before = last[static_cast<std::size_t>(frame.head.traffic)];
      EXPECT_GT(frame.head.request, before);
      before = frame.head.request;
    }
  }
}

TEST_P(Links, ASmallFrameOvertakesALargeOneOfAnotherClassAndOfItsOwn) {
  const auto w = world();
  StartedEnds ends(w->connect());
  ends.a->send(make_frame(TrafficClass::rows, 1, {64 * mib}));
  ends.a->send(make_frame(TrafficClass::control, 2, {}));
  ends.a->send(make_frame(TrafficClass::rows, 3, {10}));
  ASSERT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == 3; }));
  EXPECT_EQ(ends.at_b->frames[2].head.request, 1U);
}

TEST_P(Links, FramesOfAnySizeArriveAsTheyWereSent) {
  const auto w = world();
  StartedEnds ends(w->connect());
  const std::size_t overhead = sizeof(FrameHeader);
  std::vector<Frame> sent;
  for (const std::size_t size :
       {std::size_t{1}, 4096 - overhead, 32 * kib, max_piece_bytes - 1, max_piece_bytes,
        max_piece_bytes + 1, max_piece_bytes - overhead, 64 * mib}) {
    sent.push_back(make_frame(TrafficClass::samples, sent.size(), {size}, 0));
  }
  sent.push_back(make_frame(TrafficClass::rows, sent.size(), {0, 3 * mib, 1, 70'000}, 9000));
  sent.push_back(make_frame(TrafficClass::control, sent.size(), {}, 0));
  for (const auto& frame : sent) {
    ends.a->send(Frame(frame));
    ends.b->send(Frame(frame));
  }
  for (const auto& at : {ends.at_a, ends.at_b}) {
    ASSERT_TRUE(at->wait([&](auto& r) { return r.frames.size() == sent.size(); }));
    for (const auto& frame : at->frames) {
      EXPECT_TRUE(same_contents(frame, sent[frame.head.request])) << frame.head.request;
    }
  }
}

TEST_P(Links, FramesFromManyThreadsArriveInTheOrderOfEachThread) {
  const auto w = world();
  StartedEnds ends(w->connect());
  constexpr std::uint64_t per_thread = 500;
  {
    std::vector<std::jthread> threads;
    for (std::size_t c = 0; c < traffic_classes; ++c) {
      threads.emplace_back([&ends, c] {
        for (std::uint64_t i = 1; i <= per_thread; ++i) {
          ends.a->send(make_frame(static_cast<TrafficClass>(c), i, {10 * i}));
        }
      });
    }
  }
  ASSERT_TRUE(
      ends.at_b->wait([](auto& r) { return r.frames.size() == traffic_classes * per_thread; }));
  std::array<std::uint64_t, traffic_classes> last{};
  for (const auto& frame : ends.at_b->frames) {
    auto& before = last[static_cast<std::size_t>(frame.head.traffic)];
    EXPECT_EQ(frame.head.request, before + 1);
    before = frame.head.request;
  }
}

TEST_P(Links, CloseTellsBothEndsOnceWithItsReason) {
  for (const auto code : {Errc::cancelled, Errc::fenced, Errc::peer_lost}) {
    const auto w = world();
    StartedEnds ends(w->connect());
    ends.a->close(Error(code, "done with it"));
    ends.a->close(Error(Errc::internal, "too late to matter"));
    ASSERT_TRUE(ends.both_down());
    for (const auto& at : {ends.at_a, ends.at_b}) {
      EXPECT_EQ(at->downs[0].code(), code);
      EXPECT_EQ(at->downs[0].what(), "done with it");
    }
  }
}

TEST_P(Links, WhatArrivedBeforeTheCloseIsDeliveredAndNothingAfterIt) {
  const auto w = world();
  StartedEnds ends(w->connect());
  ends.a->send(make_frame(TrafficClass::control, 1, {}));
  ASSERT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == 1; }));
  ends.a->close(Error(Errc::cancelled, "done"));
  ends.a->send(make_frame(TrafficClass::control, 2, {}));
  ASSERT_TRUE(ends.both_down());
  ends.b->send(make_frame(TrafficClass::control, 3, {}));
  EXPECT_EQ(ends.at_b->frames.size(), 1U);
  EXPECT_TRUE(ends.at_a->frames.empty());
}

TEST_P(Links, AReasonReachesAPeerThatIsInTheMiddleOfSending) {
  const auto w = world();
  StartedEnds ends(w->connect());
  for (std::uint64_t i = 0; i < 8; ++i) {
    ends.a->send(make_frame(TrafficClass::rows, i, {8 * mib}));
    ends.b->send(make_frame(TrafficClass::rows, i, {8 * mib}));
  }
  ASSERT_TRUE(ends.at_b->wait([](auto& r) { return !r.frames.empty(); }));
  ends.b->close(Error(Errc::cancelled, "enough"));
  ASSERT_TRUE(ends.both_down());
  EXPECT_EQ(ends.at_a->downs[0].what(), "enough");
}

TEST_P(Links, EventsAreLetGoAfterTheEnd) {
  const auto w = world();
  auto [a, b] = w->connect();
  auto at_a = std::make_shared<Recorder>();
  const auto at_b = std::make_shared<Recorder>();
  const std::weak_ptr<Recorder> weak = at_a;
  a->start(std::exchange(at_a, nullptr));
  b->start(at_b);
  EXPECT_FALSE(weak.expired());
  a->close(Error(Errc::cancelled, "done"));
  ASSERT_TRUE(at_b->wait([](auto& r) { return r.downs.size() == 1; }));
  const auto end = Clock::now() + 30s;
  while (!weak.expired() && Clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(weak.expired());
}

TEST_P(Links, WhatArrivesBeforeStartIsKept) {
  const auto w = world();
  auto [a, b] = w->connect();
  const auto at_a = std::make_shared<Recorder>();
  const auto at_b = std::make_shared<Recorder>();
  a->start(at_a);
  a->send(make_frame(TrafficClass::control, 1, {10}));
  a->send(make_frame(TrafficClass::rows, 2, {16 * mib}));
  b->send(make_frame(TrafficClass::control, 3, {10}));
  EXPECT_TRUE(at_a->wait([](auto& r) { return r.frames.size() == 1; })) << "sending needs no start";
  b->start(at_b);
  EXPECT_TRUE(at_b->wait([](auto& r) { return r.frames.size() == 2; }));
  b->close(Error(Errc::cancelled, "done"));
  EXPECT_TRUE(at_a->wait([](auto& r) { return r.downs.size() == 1; }));
  EXPECT_TRUE(at_b->wait([](auto& r) { return r.downs.size() == 1; }));
}

TEST_P(Links, AnEndStartedAfterTheCloseIsTold) {
  const auto w = world();
  auto [a, b] = w->connect();
  const auto at_a = std::make_shared<Recorder>();
  const auto at_b = std::make_shared<Recorder>();
  a->start(at_a);
  a->close(Error(Errc::fenced, "gone"));
  ASSERT_TRUE(at_a->wait([](auto& r) { return r.downs.size() == 1; }));
  b->start(at_b);
  ASSERT_TRUE(at_b->wait([](auto& r) { return r.downs.size() == 1; }));
  EXPECT_EQ(at_b->downs[0].what(), "gone");
}

TEST_P(Links, TimersRunOnlyWhileItIsUp) {
  const auto w = world();
  StartedEnds ends(w->connect());
  std::promise<void> fired;
  std::atomic<bool> late = false;
  ends.a->after(1ms, [&] { fired.set_value(); });
  ASSERT_EQ(fired.get_future().wait_for(30s), std::future_status::ready);
  ends.a->after(300ms, [&] { late = true; });
  ends.a->close(Error(Errc::cancelled, "done"));
  ASSERT_TRUE(ends.both_down());
  std::promise<void> later;
  w->timers().at(w->timers().now() + 400ms, [&] { later.set_value(); });
  ASSERT_EQ(later.get_future().wait_for(30s), std::future_status::ready);
  EXPECT_FALSE(late);
}

TEST_P(Links, AFrameOverTheLimitsClosesTheLinkAtBothEnds) {
  const auto w = world({.limits = {.max_frame_bytes = mib}});
  StartedEnds ends(w->connect());
  ends.a->send(make_frame(TrafficClass::rows, 1, {mib - 200}));
  ASSERT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == 1; }));
  ends.a->send(make_frame(TrafficClass::rows, 2, {4 * mib}));
  ASSERT_TRUE(ends.both_down());
  EXPECT_EQ(ends.at_b->frames.size(), 1U);
  for (const auto& at : {ends.at_a, ends.at_b}) {
    EXPECT_EQ(at->downs[0].code(), Errc::invalid_argument);
    EXPECT_NE(at->downs[0].what().find("max_frame_bytes = 1048576"), std::string::npos);
  }
}

/// A receiver that takes its time holds up nobody but itself.
class SlowReader final : public LinkEvents {
 public:
  void on_frame(Frame&&) override {
    std::this_thread::sleep_for(2ms);
    ++frames;
  }
  void on_down(const Error&) override { down.set_value(); }
  std::atomic<std::uint64_t> frames = 0;
  std::promise<void> down;
};

TEST_P(Links, ASlowReaderGetsEverything) {
  const auto w = world();
  auto [a, b] = w->connect();
  const auto at_a = std::make_shared<Recorder>();
  const auto slow = std::make_shared<SlowReader>();
  a->start(at_a);
  b->start(slow);
  constexpr std::uint64_t count = 100;
  for (std::uint64_t i = 0; i < count; ++i) {
    a->send(make_frame(TrafficClass::rows, i, {mib}));
    b->send(make_frame(TrafficClass::control, i, {10}));
  }
  EXPECT_TRUE(at_a->wait([](auto& r) { return r.frames.size() == count; }));
  const auto end = Clock::now() + 60s;
  while (slow->frames < count && Clock::now() < end) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(slow->frames, count);
  a->close(Error(Errc::cancelled, "done"));
  EXPECT_EQ(slow->down.get_future().wait_for(30s), std::future_status::ready);
}

}  // namespace
}  // namespace troupe::net
