// Endpoints over every kind of link, in real time: windows, hosts that serve each other, fairness,
// going on over a new link.
#include "runtime/net/endpoint.hpp"
#include "tests/runtime/net/link_world.hpp"
#include "tests/runtime/net/sizes.hpp"

#include <algorithm>
#include <atomic>

namespace troupe::net {
namespace {

/// Answers with as many bytes as the request's method says.
class Server final : public RequestHandler {
 public:
  void on_request(Frame&& frame) override {
    Frame reply;
    reply.head.traffic = frame.head.traffic;
    reply.segments.push_back(pattern_segment(frame.head.method, frame.head.request));
    if (const auto at = endpoint.lock()) {
      at->reply(frame.head, std::move(reply));
    }
  }
  void on_link_down(const Error&) override { down.set_value(); }
  void on_interrupted(const Error&) override { ++interrupted; }
  std::weak_ptr<Endpoint> endpoint;
  std::atomic<int> interrupted = 0;
  std::promise<void> down;
};

/// Counts answers and waits for them.
class AnswerCount {
 public:
  Endpoint::Answer expect(std::size_t bytes) {
    return [this, bytes](const Result<Frame>& answer) {
      const bool good =
          answer.ok() && answer->segments.at(0).bytes.size() == bytes &&
          same_bytes(answer->segments[0], pattern_segment(bytes, answer->head.request));
      if (!answer.ok()) {
        ADD_FAILURE() << testing::error_text(answer);
      }
      const std::lock_guard guard(mutex_);
      ++(good ? right_ : wrong_);
      changed_.notify_all();
    };
  }
  bool wait(int count) {
    std::unique_lock guard(mutex_);
    changed_.wait_for(guard, 60s, [&] { return right_ + wrong_ >= count; });
    return right_ == count && wrong_ == 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int right_ = 0;
  int wrong_ = 0;
};

Frame request_of(std::size_t reply_bytes, TrafficClass traffic) {
  Frame frame;
  frame.head.traffic = traffic;
  frame.head.method = static_cast<std::uint32_t>(reply_bytes);
  return frame;
}

struct EndpointPair {
  EndpointPair(LinkEnds ends, const EndpointOptions& at_client, const EndpointOptions& at_server) {
    client = std::make_shared<Endpoint>(std::move(ends.first), on_client, at_client);
    server = std::make_shared<Endpoint>(std::move(ends.second), on_server, at_server);
    on_client->endpoint = client;
    on_server->endpoint = server;
    client->start();
    server->start();
  }
  ~EndpointPair() {
    for (const auto& end : {client, server}) {
      end->close(Error(Errc::cancelled, "end of the test"));
    }
    EXPECT_EQ(on_client->down.get_future().wait_for(30s), std::future_status::ready);
    EXPECT_EQ(on_server->down.get_future().wait_for(30s), std::future_status::ready);
  }
  std::shared_ptr<Server> on_client = std::make_shared<Server>();
  std::shared_ptr<Server> on_server = std::make_shared<Server>();
  std::shared_ptr<Endpoint> client, server;
};

class Endpoints : public ::testing::TestWithParam<Transport> {
 protected:
  void SetUp() override {
    if (const auto why = missing_for(GetParam()); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
  std::unique_ptr<LinkWorld> world() { return GetParam().make({}); }
};
INSTANTIATE_TEST_SUITE_P(Conformance, Endpoints, ::testing::ValuesIn(all_transports()), name_of);

TEST_P(Endpoints, WindowsAreRespectedAndEveryRequestIsAnswered) {
  const auto w = world();
  const EndpointOptions options{.window_bytes = 100 * kib, .control_window_bytes = 100 * kib};
  EndpointPair pair(w->connect(), options, options);
  AnswerCount answers;
  constexpr int count = 2000;
  for (int i = 0; i < count; ++i) {
    const std::size_t bytes = 1 + static_cast<std::size_t>(i) * 37 % 9000;
    pair.client->request(request_of(bytes, static_cast<TrafficClass>(i % 4)), bytes,
                         answers.expect(bytes));
  }
  EXPECT_TRUE(answers.wait(count));
  EXPECT_LE(pair.client->stats().max_in_flight_bytes(), 100 * kib);
  EXPECT_EQ(pair.server->stats().refused, 0U);
}

TEST_P(Endpoints, TwoThatServeEachOtherThroughSmallWindowsEnd) {
  const auto w = world();
  const EndpointOptions options{.window_bytes = mib, .control_window_bytes = mib};
  EndpointPair pair(w->connect(), options, options);
  AnswerCount answers;
  constexpr int count = 20;
  for (int i = 0; i < count; ++i) {
    for (const auto& end : {pair.client, pair.server}) {
      end->request(request_of(4 * mib, TrafficClass::rows), 4 * mib, answers.expect(4 * mib));
    }
  }
  EXPECT_TRUE(answers.wait(2 * count));
}

TEST_P(Endpoints, TwoThatSendEachOtherMoreThanAllBuffersHoldEnd) {
  const auto w = world();
  EndpointPair pair(w->connect(), {}, {});
  AnswerCount answers;
  for (int i = 0; i < 8; ++i) {
    for (const auto& end : {pair.client, pair.server}) {
      end->request(request_of(8 * mib, static_cast<TrafficClass>(i % 4)), 8 * mib,
                   answers.expect(8 * mib));
    }
  }
  EXPECT_TRUE(answers.wait(16));
}

/// Asks small things one after the other until it is told to stop.
struct Chain : std::enable_shared_from_this<Chain> {
  Chain(std::shared_ptr<Endpoint> e, TrafficClass t, const std::atomic<bool>& s)
      : endpoint(std::move(e)), traffic(t), stop(s) {}
  void ask() {
    endpoint->request(request_of(64, traffic), 64, [self = shared_from_this()](const auto& answer) {
      if (answer.ok() && !self->stop) {
        ++self->answered;
        self->ask();
      } else {
        self->ended.set_value();
      }
    });
  }
  const std::shared_ptr<Endpoint> endpoint;
  const TrafficClass traffic;
  const std::atomic<bool>& stop;
  std::atomic<int> answered = 0;
  std::promise<void> ended;
};

TEST_P(Endpoints, SmallRequestsFlowBesideALargeReply) {
  const auto w = world();
  constexpr std::size_t large = 256 * mib;
  EndpointPair pair(w->connect(), {.window_bytes = 2 * large}, {.serving_bytes = 2 * large});
  std::atomic<bool> stop = false;
  std::promise<std::pair<int, int>> counted;
  const auto same = std::make_shared<Chain>(pair.client, TrafficClass::rows, stop);
  const auto other = std::make_shared<Chain>(pair.client, TrafficClass::samples, stop);
  pair.client->request(request_of(large, TrafficClass::rows), large,
                       [&](const Result<Frame>& answer) {
                         EXPECT_OK(answer);
                         stop = true;
                         counted.set_value({same->answered, other->answered});
                       });
  same->ask();
  other->ask();
  auto future = counted.get_future();
  ASSERT_EQ(future.wait_for(60s), std::future_status::ready);
  const auto [of_same, of_other] = future.get();
  EXPECT_GT(of_same, 3) << "before the large one";
  EXPECT_GT(of_other, 3);
  EXPECT_EQ(same->ended.get_future().wait_for(30s), std::future_status::ready);
  EXPECT_EQ(other->ended.get_future().wait_for(30s), std::future_status::ready);
}

/// The server's end takes what the client's reconnector dials.
TEST_P(Endpoints, RequestsGoOnOverNewLinksAndEachIsAnsweredOnce) {
  const auto w = world();
  EndpointOptions at_client{.window_bytes = 8 * mib, .recovery_deadline = 30s};
  at_client.timers = &w->timers();
  EndpointOptions at_server = at_client;
  const auto dialer = w->dialer();
  at_client.source = std::make_shared<Reconnector>(w->timers(), dialer,
                                                   ReconnectOptions{.first = 1ms, .longest = 20ms});
  EndpointPair pair(w->connect(), at_client, at_server);
  w->on_accept([server = std::weak_ptr(pair.server)](std::shared_ptr<Link> link) {
    if (const auto to = server.lock()) {
      to->attach(std::move(link));
    }
  });
  // The first link does not know the cut; over it goes what is asked first.
  AnswerCount answers;
  auto link = dial(*dialer);
  ASSERT_OK(link);
  ASSERT_TRUE(pair.client->attach(*std::move(link)));

  constexpr int rounds = 5;
  constexpr int per_round = 200;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < per_round; ++i) {
      const std::size_t bytes = i % 50 == 0 ? mib : 100 + static_cast<std::size_t>(i);
      pair.client->request(request_of(bytes, static_cast<TrafficClass>(i % 4)), bytes,
                           answers.expect(bytes));
    }
    w->cut();
  }
  EXPECT_TRUE(answers.wait(rounds * per_round));
  EXPECT_GE(pair.client->stats().interruptions, 1U);
}

TEST_P(Endpoints, AnEndThatClosesOnPurposeIsNotDialledAgain) {
  const auto w = world();
  EndpointOptions options{.recovery_deadline = 30s};
  options.timers = &w->timers();
  EndpointPair pair(w->connect(), options, options);
  AnswerCount answers;
  pair.client->request(request_of(10, TrafficClass::control), 10, answers.expect(10));
  ASSERT_TRUE(answers.wait(1));
  pair.server->close(Error(Errc::cancelled, "the run is over"));
  std::string last;
  for (const auto end = Clock::now() + 30s;
       last != "cancelled: the run is over" && Clock::now() < end;) {
    std::promise<std::string> answer;
    pair.client->request(request_of(10, TrafficClass::control), 10,
                         [&](const auto& a) { answer.set_value(testing::error_text(a)); });
    last = answer.get_future().get();
  }
  EXPECT_EQ(last, "cancelled: the run is over");
  EXPECT_EQ(pair.on_client->interrupted, 0);
}

}  // namespace
}  // namespace troupe::net
