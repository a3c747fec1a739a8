#include "runtime/net/reconnect.hpp"

#include "tests/runtime/net/cable_test_support.hpp"

namespace troupe::net {
namespace {

/// Fails at every dial, and remembers when.
class DeadDialer final : public Dialer {
 public:
  explicit DeadDialer(VirtualDriver& driver) : driver_(driver) {}
  void dial(std::function<void(Result<std::shared_ptr<Link>>)> done) override {
    times.push_back(driver_.now());
    driver_.at(driver_.now(), [done] { done(Error(Errc::peer_lost, "nobody there")); });
  }
  std::vector<Clock::time_point> times;

 private:
  VirtualDriver& driver_;
};

/// When an endpoint that lost its link at 0 dials.
std::vector<Clock::duration> dial_times(const ReconnectOptions& options, Clock::duration recovery,
                                        Clock::duration close_after = 1h) {
  VirtualDriver driver;
  const auto dialer = std::make_shared<DeadDialer>(driver);
  auto links = make_sim_link(driver, {});
  const auto endpoint = std::make_shared<Endpoint>(
      links.first, std::make_shared<RecoveringHandler>(),
      EndpointOptions{.recovery_deadline = recovery,
                      .timers = &driver,
                      .source = std::make_shared<Reconnector>(driver, dialer, options)});
  endpoint->start();
  const auto start = driver.now();
  links.second->close(Error(Errc::peer_lost, "gone"));
  driver.run_until(start + close_after);
  endpoint->close(Error(Errc::cancelled, "done"));
  driver.run_until(start + 2h);
  std::vector<Clock::duration> out;
  for (const auto t : dialer->times) {
    out.push_back(t - start);
  }
  return out;
}

TEST(Reconnector, PausesDoubleUpToTheLongestUntilTheDeadline) {
  using Times = std::vector<Clock::duration>;
  EXPECT_EQ(dial_times({}, 3s),
            (Times{0ms, 10ms, 30ms, 70ms, 150ms, 310ms, 630ms, 1270ms, 2270ms}));
  EXPECT_EQ(dial_times({.first = 100ms, .longest = 100ms}, 350ms),
            (Times{0ms, 100ms, 200ms, 300ms}));
}

TEST(Reconnector, StopsWhenTheEndpointIsClosed) {
  EXPECT_EQ(dial_times({}, 1h, 100ms).size(), 4U);
}

TEST(Reconnector, JitterComesFromTheSeedAndOnlyShortens) {
  const auto plain = dial_times({}, 1min);
  const auto one = dial_times({.jitter = 0.5, .seed = 1}, 1min);
  EXPECT_EQ(one, dial_times({.jitter = 0.5, .seed = 1}, 1min));
  EXPECT_NE(one, dial_times({.jitter = 0.5, .seed = 2}, 1min));
  for (std::size_t i = 1; i < plain.size(); ++i) {
    const auto pause = one[i] - one[i - 1];
    const auto full = plain[i] - plain[i - 1];
    EXPECT_LE(pause, full);
    EXPECT_GE(2 * pause, full);
  }
}

TEST(Reconnector, DialsAtOnceAfterALinkThatHeldAndLaterAfterOneThatDidNot) {
  Cabled ends;
  const auto cut_and_heal = [&] {
    ends.cut();
    ends.cable->heal();
    const auto start = ends.driver.now();
    ends.driver.run_until(start);
    while (ends.client->interrupted()) {
      ends.driver.run_until(ends.driver.next_event());
    }
    return ends.driver.now() - start;
  };
  EXPECT_EQ(cut_and_heal(), 20us);
  ends.run(2s);
  EXPECT_EQ(cut_and_heal(), 20us);
}

TEST(Reconnector, GoesOnPausingWhenLinksBreakAtOnce) {
  Cabled ends;
  for (int i = 0; i < 8; ++i) {  // 10 ms + 20 ms + ... + 640 ms
    ends.cut();
    ends.cable->heal();
    ends.run(1us);
    while (ends.client->interrupted()) {
      ends.driver.run_until(ends.driver.next_event());
    }
    ends.run(100us);
  }
  const auto took = ends.driver.now() - Clock::time_point(1h);
  EXPECT_GE(took, 1270ms);
  EXPECT_LE(took, 1280ms);
  EXPECT_EQ(ends.reconnector->attempts(), 8U);
}

TEST(SimCable, ADialFailsWhileCutAndTakesARoundTripElse) {
  Cabled ends({}, {}, {.latency = 100us});
  const auto dialer = ends.cable->dialer();
  ends.cut();
  ends.run(1us);
  std::optional<Result<std::shared_ptr<Link>>> got;
  const auto start = ends.driver.now();
  dialer->dial([&](auto link) { got = std::move(link); });
  EXPECT_FALSE(got.has_value());
  ends.driver.run_until(start + 200us);
  ASSERT_TRUE(got.has_value());
  EXPECT_ERROR(*got, Errc::peer_lost, "the cable is cut");
}

TEST(SimCable, ALinkFromBeforeTheCutStaysDown) {
  VirtualDriver driver;
  const auto cable = SimCable::make(driver, {});
  auto links = cable->connect();
  const auto a = std::make_shared<Recorder>(links.first);
  const auto b = std::make_shared<Recorder>(links.second);
  links.first->start(a);
  links.second->start(b);
  cable->cut(Error(Errc::peer_lost, "cut"), {.notice = {1ms, 2ms}});
  cable->cut(Error(Errc::peer_lost, "again"), {});
  EXPECT_TRUE(cable->is_cut());
  cable->heal();
  links.first->send(make_frame(TrafficClass::rows, 1, {5}));
  driver.run_until(driver.now() + 1s);
  EXPECT_TRUE(b->frames.empty());
  ASSERT_EQ(a->downs.size(), 1U);
  ASSERT_EQ(b->downs.size(), 1U);
  EXPECT_EQ(b->downs[0].what(), "cut");
  EXPECT_EQ(b->down_time - a->down_time, 1ms);
}

TEST(SimCable, WhatIsOnTheWireArrivesOrIsLost) {
  for (const bool lose : {false, true}) {
    VirtualDriver driver;
    const auto cable = SimCable::make(driver, {.latency = 1ms});
    auto links = cable->connect();
    const auto a = std::make_shared<Recorder>(links.first);
    const auto b = std::make_shared<Recorder>(links.second);
    links.first->start(a);
    links.second->start(b);
    links.first->send(make_frame(TrafficClass::rows, 1, {5}));
    driver.run_until(driver.now() + 10us);
    cable->cut(Error(Errc::peer_lost, "cut"), {.lose_in_flight = lose, .notice = {5ms, 5ms}});
    driver.run_until(driver.now() + 1s);
    EXPECT_EQ(b->frames.size(), lose ? 0U : 1U);
    EXPECT_EQ(b->downs.size(), 1U);
  }
}

TEST(SimCable, LatencyAndBandwidthChangeWhileRunningWithoutOvertaking) {
  VirtualDriver driver;
  const auto cable = SimCable::make(driver, {.latency = 10ms});
  auto links = cable->connect();
  const auto a = std::make_shared<Recorder>(links.first);
  const auto b = std::make_shared<Recorder>(links.second);
  links.first->start(a);
  links.second->start(b);
  const auto t = driver.now();
  links.first->send(make_frame(TrafficClass::rows, 1, {5}));
  driver.run_until(t + 1ms);
  cable->set_latency(1ms);
  links.first->send(make_frame(TrafficClass::rows, 2, {5}));
  driver.run_until(t + 20ms);
  cable->set_bandwidth(1e6);
  links.first->send(make_frame(TrafficClass::rows, 3, {10'000 - sizeof(FrameHeader) - 12}, 0));
  driver.run_until(t + 1s);
  EXPECT_EQ(b->times, (std::vector{t + 10ms, t + 10ms, t + 31ms}));
  links.first->close(Error(Errc::cancelled, "done"));
  driver.run_until(t + 2s);
}

}  // namespace
}  // namespace troupe::net
