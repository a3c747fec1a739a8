#include "runtime/net/endpoint.hpp"
#include "tests/runtime/net/cable_test_support.hpp"

#include <atomic>
#include <thread>

namespace troupe::net {
namespace {

using Ids = std::vector<std::uint64_t>;

TEST(EndpointRecovery, RequestsStayOverAnInterruptionAndAreServedOnce) {
  Cabled ends;
  ends.ask(1, request_frame(500), 100);
  ends.ask(2, request_frame(500), 100);
  ends.run();
  ends.cut();
  ends.run();
  EXPECT_TRUE(ends.client->interrupted());
  EXPECT_TRUE(ends.server->interrupted());
  EXPECT_TRUE(ends.order.empty());

  ends.cable->heal();
  ends.run(1s);
  EXPECT_FALSE(ends.client->interrupted());
  EXPECT_FALSE(ends.server->interrupted());
  EXPECT_EQ(ends.ids(), (Ids{1, 2})) << "what is being served is not handed over again";
  ends.answer(1);
  ends.answer(0);
  ends.run();
  EXPECT_EQ(ends.order, (std::vector{2, 1}));
  EXPECT_EQ(ends.answer_of(1), "ok");
  EXPECT_EQ(ends.client->stats().requests, 2U);
  EXPECT_EQ(ends.client->stats().resent, 2U);
  EXPECT_EQ(ends.client->stats().interruptions, 1U);
  EXPECT_EQ(ends.server->stats().dropped, 2U);
  EXPECT_EQ(ends.at_client->resumed, 1);
  EXPECT_EQ(ends.at_server->resumed, 1);
  ASSERT_EQ(ends.at_client->interrupted.size(), 1U);
  EXPECT_EQ(ends.at_client->interrupted[0].what(), "the cable is cut");
  EXPECT_TRUE(ends.at_client->downs.empty());
}

TEST(EndpointRecovery, ALostRequestIsSentAgainBeforeWhatQueued) {
  Cabled ends({.window_bytes = 2000});
  ends.cut({.lose_in_flight = true, .notice = {1ms, 1ms}});
  ends.cable->heal();
  ends.ask(1, request_frame(500), 500);  // into the dead link
  ends.run(2ms);                         // noticed, connected again
  EXPECT_EQ(ends.ids(), (Ids{1}));

  ends.cut();
  ends.run(1ms);
  for (int i = 2; i <= 5; ++i) {
    ends.ask(i, request_frame(500), 500);
  }
  ends.cable->heal();
  ends.run(100ms);
  EXPECT_EQ(ends.ids(), (Ids{1, 2})) << "the window counts what is open once";
  for (std::size_t i = 0; i < 5; ++i) {
    ends.answer(i);
    ends.run();
  }
  EXPECT_EQ(ends.order, (std::vector{1, 2, 3, 4, 5}));
  const auto stats = ends.client->stats();
  EXPECT_EQ(stats.classes[static_cast<std::size_t>(TrafficClass::rows)].max_charged_bytes, 2000U);
  EXPECT_EQ(stats.max_queued_bytes(), 2000U);
}

TEST(EndpointRecovery, ARequestWhoseAnswerWasLostIsServedAgain) {
  Cabled ends;
  ends.ask(1, request_frame(500), 100);
  ends.run();
  ends.answer(0);
  ends.driver.run_until(ends.driver.now() + 1us);
  ends.cut({.lose_in_flight = true});
  ends.cable->heal();
  ends.run();
  EXPECT_EQ(ends.ids(), (Ids{1, 1}));
  EXPECT_EQ(ends.answer_of(1), "none");
  ends.answer(1);
  ends.run();
  EXPECT_EQ(ends.answers.at(1)->segments.at(0).bytes.size(), 2U);
}

TEST(EndpointRecovery, AnAnswerGivenWhileInterruptedIsDroppedAndAskedForAgain) {
  Cabled ends({}, {.serving_bytes = 700});
  ends.ask(1, request_frame(500), 100);
  ends.run();
  ends.cut();
  ends.run();
  ends.answer(0);
  ends.cable->heal();
  ends.run(1s);
  EXPECT_EQ(ends.ids(), (Ids{1, 1}));
  EXPECT_EQ(ends.server->stats().refused, 0U) << "it was let go of";
  ends.answer(1);
  ends.run();
  EXPECT_EQ(ends.answer_of(1), "ok");
  EXPECT_EQ(ends.server->stats().served, 1U);
}

TEST(EndpointRecovery, AnAnswerThatWasOnTheWayBeforeTheCutCounts) {
  Cabled ends;
  ends.ask(1, request_frame(500), 100);
  ends.run();
  ends.answer(0);
  ends.driver.run_until(ends.driver.now() + 1us);
  ends.cut({.notice = {1ms, 1ms}});
  ends.cable->heal();
  ends.run();
  EXPECT_EQ(ends.answer_of(1), "ok");
  EXPECT_EQ(ends.client->stats().resent, 0U);
  EXPECT_EQ(ends.ids(), (Ids{1}));
}

TEST(EndpointRecovery, DeadlinesRunWithoutALink) {
  Cabled ends({.deadline = 1s});
  ends.ask(1, request_frame(500), 100);
  ends.run();
  ends.cut();
  ends.run(500ms);
  ends.ask(2, request_frame(500), 100);
  ends.run(500ms);
  EXPECT_EQ(ends.order, (std::vector{1}));
  EXPECT_EQ(ends.answers.at(1).error().code(), Errc::deadline_exceeded);
  EXPECT_NE(ends.answer_of(1).find("link client to server down for 99"), std::string::npos)
      << ends.answer_of(1);
  ends.run(505ms);
  EXPECT_EQ(ends.order, (std::vector{1, 2}));
  ends.cable->heal();
  ends.run(2s);
  EXPECT_EQ(ends.ids(), (Ids{1})) << "nothing is sent that nobody waits for";
  EXPECT_EQ(ends.client->stats().resent, 0U);
}

TEST(EndpointRecovery, TheQueueIsBoundedWhileInterrupted) {
  Cabled ends({.window_bytes = 10'000, .queue_bytes = 1000});
  ends.cut();
  ends.run();
  for (int i = 1; i <= 3; ++i) {
    ends.ask(i, request_frame(500), 100);
  }
  EXPECT_EQ(ends.order, (std::vector{3}));
  EXPECT_EQ(ends.answers.at(3).error().code(), Errc::overloaded);
  EXPECT_NE(ends.answer_of(3).find("link is down"), std::string::npos) << ends.answer_of(3);
}

TEST(EndpointRecovery, GivesUpAtTheRecoveryDeadlineAndNamesTheLink) {
  Cabled ends({.window_bytes = 1500, .recovery_deadline = 3s}, {.recovery_deadline = 2s});
  for (int i = 1; i <= 3; ++i) {
    ends.ask(i, request_frame(500), 500);
  }
  ends.run();
  ends.cut();
  ends.run(2999ms);
  EXPECT_TRUE(ends.order.empty());
  ends.run(1ms);
  EXPECT_EQ(ends.order, (std::vector{1, 2, 3}));
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(ends.answer_of(i),
              "peer_lost: link client to server: down for 3000 ms and not connected again within "
              "3000 ms: dial: the cable is cut, or nobody accepts at its other end");
  }
  ASSERT_EQ(ends.at_client->downs.size(), 1U);
  EXPECT_EQ(ends.at_client->downs[0].code(), Errc::peer_lost);
  ASSERT_EQ(ends.at_server->downs.size(), 1U);
  EXPECT_NE(ends.at_server->downs[0].what().find("link server to client: down for 2000 ms"),
            std::string::npos);

  ends.cable->heal();
  ends.run(10s);
  EXPECT_EQ(ends.at_client->resumed, 0);
  ends.ask(4, request_frame(500), 100);
  EXPECT_EQ(ends.answers.at(4).error().code(), Errc::peer_lost) << "at once";
}

TEST(EndpointRecovery, ALinkThatComesLateFindsTheEndpointClosedAndEndsTheOtherToo) {
  Cabled ends({.recovery_deadline = 10s}, {.recovery_deadline = 1s});
  ends.ask(1, request_frame(500), 500);
  ends.cut();
  ends.run(2s);
  ASSERT_EQ(ends.at_server->downs.size(), 1U);
  ends.cable->heal();
  ends.run(2s);
  ASSERT_EQ(ends.at_client->downs.size(), 1U);
  EXPECT_EQ(ends.answer_of(1), "cancelled: link server to client: closed here");
}

TEST(EndpointRecovery, CloseIsForGoodAtBothEnds) {
  Cabled ends;
  ends.ask(1, request_frame(500), 500);
  ends.run();
  ends.server->close(Error(Errc::cancelled, "the run is over"));
  ends.run();
  EXPECT_EQ(ends.answer_of(1), "cancelled: the run is over");
  EXPECT_EQ(ends.at_client->downs.size(), 1U);
  EXPECT_EQ(ends.at_server->downs.size(), 1U);
  EXPECT_TRUE(ends.at_client->interrupted.empty());
  EXPECT_EQ(ends.reconnector->attempts(), 0U);
}

TEST(EndpointRecovery, CloseWhileInterruptedAnswersOffTheCallersStack) {
  Cabled ends;
  ends.ask(1, request_frame(500), 500);
  ends.cut();
  ends.run();
  ends.client->close(Error(Errc::cancelled, "enough"));
  EXPECT_TRUE(ends.order.empty());
  ends.cable->heal();
  ends.run();
  EXPECT_EQ(ends.answer_of(1), "cancelled: enough");
  EXPECT_EQ(ends.at_client->downs.size(), 1U);
}

TEST(EndpointRecovery, CloseAfterAnUnnoticedCutIsForGood) {
  Cabled ends;
  ends.ask(1, request_frame(500), 500);
  ends.cut({.notice = {1s, 1s}});
  ends.client->close(Error(Errc::cancelled, "enough"));
  ends.run(2s);
  EXPECT_EQ(ends.at_client->downs.size(), 1U);
  EXPECT_NE(ends.answer_of(1), "none");
  EXPECT_TRUE(ends.server->interrupted());
}

TEST(EndpointRecovery, AFrameOverTheLimitsEndsIt) {
  Cabled ends({}, {}, {.latency = 10us, .limits = {.max_frame_bytes = 1000}});
  ends.ask(1, request_frame(2000), 500);
  ends.run();
  EXPECT_EQ(ends.answers.at(1).error().code(), Errc::invalid_argument) << "it would come again";
  EXPECT_EQ(ends.at_client->downs.size(), 1U);
}

TEST(EndpointRecovery, ACorruptLinkIsReplaced) {
  int blocks = 0;
  SimLinkOptions link{.latency = 10us};
  link.tamper = [&](int to, std::span<std::byte> block) {
    if (to == 1 && ++blocks == 1) {
      block[30] ^= std::byte{1};
    }
  };
  Cabled ends({}, {}, link);
  ends.ask(1, request_frame(500), 500);
  ends.run();
  ASSERT_EQ(ends.at_client->interrupted.size(), 1U);
  EXPECT_EQ(ends.at_client->interrupted[0].code(), Errc::data_corruption);
  EXPECT_EQ(ends.ids(), (Ids{1}));
}

TEST(EndpointRecovery, ALinkThatIsStillUpIsReplacedAndItsLateFramesIgnored) {
  Cabled ends;
  ends.ask(1, request_frame(500), 100);
  ends.run();
  // The server does not notice for a minute; the client dials again at once.
  ends.cut({.lose_in_flight = false, .notice = {0us, 1min}});
  ends.cable->heal();
  ends.run();
  EXPECT_FALSE(ends.server->interrupted());
  EXPECT_EQ(ends.at_server->resumed, 1);
  EXPECT_TRUE(ends.at_server->interrupted.empty());
  EXPECT_EQ(ends.server->stats().interruptions, 1U);
  ends.answer(0);
  ends.run(2min);
  EXPECT_EQ(ends.answer_of(1), "ok");
  EXPECT_FALSE(ends.server->interrupted()) << "the old link's end does not matter";
  EXPECT_TRUE(ends.at_server->downs.empty());
}

TEST(EndpointRecovery, FramesOfAReplacedLinkAreIgnored) {
  Cabled ends({}, {}, {.latency = 1ms});
  ends.ask(1, request_frame(500), 100);
  ends.run();
  ends.answer(0);  // on its way for another millisecond
  ends.run(100us);
  auto spare = make_sim_link(ends.driver, {.latency = 10us});
  const auto recorder = std::make_shared<Recorder>(spare.second);
  spare.second->start(recorder);
  EXPECT_TRUE(ends.client->attach(spare.first));
  ends.run();
  EXPECT_EQ(ends.answer_of(1), "none");
  EXPECT_EQ(ends.client->stats().dropped, 0U);
  ASSERT_EQ(recorder->frames.size(), 1U) << "sent again";
  spare.second->close(Error(Errc::cancelled, "done"));
}

TEST(EndpointRecovery, ASuccessorOfThePeerIsServedBesideRequestsOfTheLostOne) {
  Cabled ends;
  ends.ask(1, request_frame(500), 100);
  ends.run();
  ends.cut();
  ends.run();
  auto links = make_sim_link(ends.driver, {.latency = 10us});
  const auto handler = std::make_shared<RecoveringHandler>();
  const auto successor = std::make_shared<Endpoint>(
      links.first, handler, EndpointOptions{.first_request = std::uint64_t{1} << 40});
  successor->start();
  ends.server->attach(links.second);
  std::vector<std::size_t> sizes;
  successor->request(request_frame(500), 100, [&](Result<Frame> answer) {
    sizes.push_back(answer.ok() ? answer->segments.at(0).bytes.size() : 0);
  });
  ends.run();
  EXPECT_EQ(ends.ids(), (Ids{1, std::uint64_t{1} << 40}));
  ends.answer(0);
  ends.answer(1);
  ends.run();
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2}));
  EXPECT_EQ(successor->stats().dropped, 1U);
  successor->close(Error(Errc::cancelled, "done"));
}

TEST(EndpointRecovery, AnInterruptedEndpointLivesUntilItHasAnsweredAll) {
  Cabled ends;
  ends.ask(1, request_frame(500), 100);
  ends.cut();
  ends.run();
  const std::weak_ptr<Endpoint> weak = ends.client;
  ends.client.reset();
  EXPECT_FALSE(weak.expired());
  ends.run(11s);
  EXPECT_EQ(ends.answers.at(1).error().code(), Errc::peer_lost);
  EXPECT_TRUE(weak.expired());
  ends.client = ends.server;
}

// ---- real threads ----

/// Answers at once, on the link's thread, with one byte more than was asked with.
class AnswersAll final : public RequestHandler {
 public:
  void on_request(Frame&& frame) override {
    if (const auto at = endpoint.lock()) {
      at->reply(frame.head,
                make_frame(frame.head.traffic, 0, {frame.segments.at(0).bytes.size() + 1}));
    }
  }
  void on_link_down(const Error&) override { down = true; }
  std::weak_ptr<Endpoint> endpoint;
  std::atomic<bool> down = false;
};

TEST(EndpointRecovery, ManyThreadsGetOneAnswerEachWhileTheCableIsCutAgainAndAgain) {
  RealTimeDriver driver;
  const auto cable = SimCable::make(driver, {.latency = 50us, .bytes_per_second = 2e9});
  const auto reconnector =
      std::make_shared<Reconnector>(driver, cable->dialer(), ReconnectOptions{.longest = 10ms});
  EndpointOptions options{.recovery_deadline = 30s, .timers = &driver, .source = reconnector};
  auto links = cable->connect();
  const std::array handlers{std::make_shared<AnswersAll>(), std::make_shared<AnswersAll>()};
  const auto a = std::make_shared<Endpoint>(links.first, handlers[0], options);
  options.source = nullptr;
  const auto b = std::make_shared<Endpoint>(links.second, handlers[1], options);
  cable->on_accept([b](std::shared_ptr<Link> link) { b->attach(std::move(link)); });
  handlers[0]->endpoint = a;
  handlers[1]->endpoint = b;
  a->start();
  b->start();
  constexpr int threads = 4;
  constexpr int per_thread = 1000;
  std::atomic<int> answered = 0;
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        const auto& from = t % 2 == 0 ? a : b;
        for (int i = 0; i < per_thread; ++i) {
          const auto size = static_cast<std::size_t>(1 + i % 3000);
          from->request(
              make_frame(static_cast<TrafficClass>(i % 4), 0, {size}), size,
              [&, size](const Result<Frame>& answer) {
                wrong += answer.ok() && answer->segments.at(0).bytes.size() == size + 1 ? 0 : 1;
                ++answered;
              });
          if (i % 100 == 0) {
            std::this_thread::sleep_for(1ms);
          }
        }
      });
    }
    for (int i = 0; i < 10; ++i) {
      std::this_thread::sleep_for(2ms);
      cable->cut(Error(Errc::peer_lost, "cut"),
                 {.lose_in_flight = i % 2 == 0, .notice = {i % 3 * 1ms, i % 2 * 1ms}});
      std::this_thread::sleep_for(i % 4 * 1ms);
      cable->heal();
    }
  }
  for (int i = 0; i < 20'000 && answered < threads * per_thread; ++i) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(answered, threads * per_thread);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(a->stats().interruptions, 0U);
  a->close(Error(Errc::cancelled, "enough"));
  b->close(Error(Errc::cancelled, "enough"));
  while (!handlers[0]->down || !handlers[1]->down) {
    std::this_thread::sleep_for(1ms);
  }
}

/// What it had told when the end was announced.
class EndingHandler final : public RequestHandler {
 public:
  void on_request(Frame&& /*frame*/) override {}
  void on_ending(const Error& /*why*/) override { answered_before = answered; }
  void on_link_down(const Error& /*why*/) override { ++downs; }
  int answered = 0;
  int answered_before = -1;
  int downs = 0;
};

TEST(EndpointRecovery, TheEndIsToldBeforePendingRequestsAreAnswered) {
  VirtualDriver driver;
  const auto handler = std::make_shared<EndingHandler>();
  const auto links = make_sim_link(driver, {});
  const auto client = std::make_shared<Endpoint>(links.first, handler, EndpointOptions{});
  const auto server =
      std::make_shared<Endpoint>(links.second, std::make_shared<Handler>(), EndpointOptions{});
  client->start();
  server->start();
  client->request(request_frame(100), 100, [&](const Result<Frame>&) { ++handler->answered; }, {});

  client->close(Error(Errc::peer_lost, "cut"));
  driver.run_until(driver.now() + 1h);

  EXPECT_EQ(handler->answered_before, 0);
  EXPECT_EQ(handler->answered, 1);
  EXPECT_EQ(handler->downs, 1);
}

}  // namespace
}  // namespace troupe::net
