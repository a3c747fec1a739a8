#include "runtime/net/endpoint.hpp"
#include "tests/runtime/net/endpoint_test_support.hpp"

#include <atomic>
#include <fmt/format.h>
#include <thread>

namespace troupe::net {
namespace {

TEST(Endpoint, ServerRefusesOverItsLimitButTakesOneAlone) {
  Ends ends({}, {.serving_bytes = 2000});
  ends.ask(1, request_frame(500), 50'000);
  ends.ask(2, request_frame(500), 100);
  ends.run();
  EXPECT_EQ(ends.at_server->requests.size(), 1U);
  ASSERT_NE(ends.answer_of(2), "none");
  EXPECT_EQ(ends.answers.at(2).error().code(), Errc::overloaded);
  EXPECT_NE(ends.answer_of(2).find("of 2000 bytes"), std::string::npos) << ends.answer_of(2);
  EXPECT_EQ(ends.server->stats().refused, 1U);

  ends.serve();
  for (int i = 3; i <= 5; ++i) {
    ends.ask(i, request_frame(500), 500);
  }
  ends.run();
  EXPECT_EQ(ends.at_server->requests.size(), 3U);
  EXPECT_EQ(ends.order, (std::vector{2, 1, 5}));
  ends.serve();
  ends.ask(6, request_frame(500), 500);
  ends.run();
  EXPECT_EQ(ends.at_server->requests.size(), 4U) << "an answer makes room";
}

/// A server endpoint whose peer is a bare link.
struct BarePeer {
  BarePeer() {
    std::tie(link, other) = make_sim_link(driver, {});
    recorder = std::make_shared<Recorder>(link);
    endpoint = std::make_shared<Endpoint>(other, handler, EndpointOptions{});
    link->start(recorder);
    endpoint->start();
  }
  ~BarePeer() {
    link->close(Error(Errc::cancelled, "end of the test"));
    run();
  }
  void send(FrameKind kind, std::uint64_t request, TrafficClass traffic,
            std::uint64_t max_reply = 100) {
    Frame frame = make_frame(traffic, request, {10});
    frame.head.kind = kind;
    frame.head.max_reply_bytes = max_reply;
    link->send(std::move(frame));
    run();
  }
  void run() { driver.run_until(driver.now() + 1ms); }

  VirtualDriver driver;
  std::shared_ptr<Link> link, other;
  std::shared_ptr<Recorder> recorder;
  std::shared_ptr<Handler> handler = std::make_shared<Handler>();
  std::shared_ptr<Endpoint> endpoint;
};

TEST(Endpoint, DropsARequestThatIsBeingServed) {
  BarePeer peer;
  peer.send(FrameKind::request, 1, TrafficClass::rows);
  peer.send(FrameKind::request, 1, TrafficClass::rows);
  peer.send(FrameKind::request, 1, TrafficClass::control);
  peer.send(FrameKind::request, 0, TrafficClass::rows);
  EXPECT_EQ(peer.handler->requests.size(), 1U);
  EXPECT_EQ(peer.endpoint->stats().dropped, 3U);

  peer.endpoint->reply(peer.handler->requests[0].head, make_frame(TrafficClass::rows, 0, {1}));
  peer.send(FrameKind::request, 1, TrafficClass::rows);
  EXPECT_EQ(peer.handler->requests.size(), 2U) << "answered: the answer may have been lost";
}

TEST(Endpoint, ServesRequestsThatOvertookEachOther) {
  BarePeer peer;
  peer.send(FrameKind::request, 5, TrafficClass::rows);
  peer.send(FrameKind::request, 3, TrafficClass::rows);
  EXPECT_EQ(peer.handler->requests.size(), 2U);
}

TEST(Endpoint, RefusesNumbersThatAreNoneOfRequests) {
  BarePeer peer;
  peer.send(FrameKind::request, largest_request, TrafficClass::rows);
  EXPECT_EQ(peer.handler->requests.size(), 1U);

  const std::vector<std::uint64_t> refused{largest_request + 1, std::uint64_t{1} << 61 | 1,
                                           std::uint64_t{1} << 63 | 1};
  for (const auto number : refused) {
    peer.send(FrameKind::request, number, TrafficClass::rows);
  }

  EXPECT_EQ(peer.handler->requests.size(), 1U);
  EXPECT_EQ(peer.endpoint->stats().refused, refused.size());
  ASSERT_EQ(peer.recorder->frames.size(), refused.size());
  for (std::size_t i = 0; i < refused.size(); ++i) {
    const auto& answer = peer.recorder->frames[i];
    EXPECT_EQ(answer.head.kind, FrameKind::failure);
    EXPECT_EQ(answer.head.request, refused[i]);
    EXPECT_EQ(decode_error(answer).code(), Errc::invalid_argument);
    EXPECT_NE(std::string(decode_error(answer).what()).find(fmt::format("found {}", refused[i])),
              std::string::npos);
  }
}

TEST(Endpoint, DropsRepliesToNothing) {
  BarePeer peer;
  peer.send(FrameKind::reply, 1, TrafficClass::rows);
  peer.send(FrameKind::failure, 77, TrafficClass::rows);
  EXPECT_EQ(peer.endpoint->stats().dropped, 2U);
}

TEST(Endpoint, SurvivesTheLargestReplySizes) {
  BarePeer peer;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    peer.send(FrameKind::request, i, TrafficClass::rows, ~std::uint64_t{0});
  }
  EXPECT_EQ(peer.handler->requests.size(), 1U);
  EXPECT_EQ(peer.recorder->frames.size(), 2U);
  peer.endpoint->reply(peer.handler->requests[0].head, make_frame(TrafficClass::rows, 0, {1}));
  peer.send(FrameKind::request, 4, TrafficClass::rows);
  EXPECT_EQ(peer.handler->requests.size(), 2U);
}

TEST(Endpoint, AFailureThatCannotBeReadIsStillAnAnswer) {
  BarePeer peer;
  std::vector<Result<Frame>> answers;
  peer.endpoint->request(request_frame(500), 100,
                         [&](Result<Frame> answer) { answers.push_back(std::move(answer)); });
  Frame frame = make_frame(TrafficClass::control, 1, {}, 3);
  frame.head.kind = FrameKind::failure;
  peer.link->send(std::move(frame));
  peer.run();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_FALSE(answers[0].ok());
}

// ---- real threads ----

/// Answers at once on its own threads' turn: every third request fails.
class FailsEveryThird final : public RequestHandler {
 public:
  void on_request(Frame&& frame) override {
    if (const auto server = endpoint.lock()) {
      if (frame.segments.at(0).bytes.size() % 3 == 0) {
        server->fail(frame.head, Error(Errc::not_found, "every third"));
      } else {
        server->reply(frame.head,
                      make_frame(frame.head.traffic, 0, {frame.segments[0].bytes.size() + 1}));
      }
    }
  }
  void on_link_down(const Error&) override { down = true; }
  std::weak_ptr<Endpoint> endpoint;
  std::atomic<bool> down = false;
};

TEST(Endpoint, ManyThreadsGetExactlyOneAnswerEach) {
  RealTimeDriver driver;
  const auto links = make_sim_link(driver, {.latency = 50us, .bytes_per_second = 2e9});
  const auto at_a = std::make_shared<FailsEveryThird>();
  const auto at_b = std::make_shared<FailsEveryThird>();
  const EndpointOptions options{.window_bytes = 100'000,
                                .control_window_bytes = 0,
                                .queue_bytes = 20'000,
                                .serving_bytes = 60'000};
  const auto a = std::make_shared<Endpoint>(links.first, at_a, options);
  const auto b = std::make_shared<Endpoint>(links.second, at_b, options);
  at_a->endpoint = a;
  at_b->endpoint = b;
  a->start();
  b->start();
  constexpr int threads = 4;
  constexpr int per_thread = 2000;
  std::atomic<int> answered = 0;
  std::atomic<int> replied = 0;
  std::atomic<int> wrong = 0;
  const auto ask = [&](const std::shared_ptr<Endpoint>& from, int i) {
    const std::size_t size = static_cast<std::size_t>(1 + i % 5000);
    Frame frame = make_frame(static_cast<TrafficClass>(i % 4), 0, {size});
    const auto reply_bytes = make_frame(TrafficClass::rows, 0, {size + 1}).size_bytes();
    from->request(std::move(frame), reply_bytes, [&, size](const Result<Frame>& answer) {
      ++answered;
      const auto code = answer.ok() ? Errc::ok : answer.error().code();
      const bool fits = code == Errc::ok ? answer->segments.at(0).bytes.size() == size + 1
                        : code == Errc::not_found
                            ? size % 3 == 0
                            : code == Errc::overloaded || code == Errc::cancelled;
      wrong += fits ? 0 : 1;
      replied += code == Errc::ok ? 1 : 0;
    });
  };
  {
    std::vector<std::jthread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        for (int i = 0; i < per_thread; ++i) {
          ask(t % 2 == 0 ? a : b, t * per_thread + i);
        }
      });
    }
  }
  // On a busy machine the link's thread may not have run yet; what is open then, the close answers.
  for (int i = 0; i < 30'000 && replied == 0; ++i) {
    std::this_thread::sleep_for(1ms);
  }
  a->close(Error(Errc::cancelled, "enough"));
  while (!at_a->down || !at_b->down) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(answered, threads * per_thread);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(replied, 0);
  EXPECT_LE(a->stats().max_queued_bytes(), 20'000U);
  EXPECT_LE(a->stats().max_in_flight_bytes(), 100'000U);
}

}  // namespace
}  // namespace troupe::net
