// Hosts that hold and ask at once, over small windows and buffers, on a virtual clock: they end, and
// small requests are not held up by large answers. No actors: what is shown here is the transport's.
#include "runtime/net/endpoint.hpp"
#include "runtime/net/piece.hpp"
#include "runtime/net/sim_network.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <vector>

namespace troupe::net {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kib = std::size_t{1} << 10;
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t gib = std::size_t{1} << 30;

/// Zeros that take no memory until they are copied.
Segment zeros(std::size_t bytes) {
  const std::shared_ptr<void> block(std::calloc(bytes, 1), [](void* p) { std::free(p); });
  if (!block) {
    throw std::bad_alloc();
  }
  return {block, {static_cast<const std::byte*>(block.get()), bytes}};
}

/// A host: asks its neighbours and serves them. A request of method n > 0 is served by asking the
/// next host with method n - 1.
class Host : public std::enable_shared_from_this<Host> {
 public:
  struct Options {
    std::size_t reply_bytes = 0;
    std::vector<TrafficClass> class_of;  ///< of requests of method 0, 1, ...
  };
  Host(VirtualDriver& driver, Options options)
      : driver_(driver), options_(std::move(options)), reply_(zeros(options_.reply_bytes)) {}

  void connect(std::size_t neighbour, std::shared_ptr<Link> link, const EndpointOptions& options) {
    auto port = std::make_shared<Port>();
    port->host = weak_from_this();
    port->endpoint = std::make_shared<Endpoint>(std::move(link), port, options);
    port->endpoint->start();
    ports_[neighbour] = port;
  }
  void set_next(std::size_t neighbour) { next_ = neighbour; }
  void close() {
    for (auto& [neighbour, port] : ports_) {
      port->endpoint->close(Error(Errc::cancelled, "end of the test"));
    }
  }

  void ask_next(std::uint32_t method, Endpoint::Answer answer) {
    Frame frame;
    frame.head.method = method;
    frame.head.traffic = options_.class_of.at(method);
    ports_.at(next_)->endpoint->request(
        std::move(frame), options_.reply_bytes + sizeof(FrameHeader), std::move(answer));
  }
  /// Asks and counts the answers.
  void ask(std::uint32_t method) {
    ask_next(method, [self = shared_from_this()](const Result<Frame>& answer) {
      ++(answer.ok() ? self->answered : self->failed);
      self->last_answer = self->driver_.now();
    });
  }
  EndpointStats stats() const { return ports_.at(next_)->endpoint->stats(); }

  int answered = 0;
  int failed = 0;
  Clock::time_point last_answer{};

 private:
  struct Port final : RequestHandler {
    void on_request(Frame&& frame) override {
      if (const auto h = host.lock()) {
        h->serve(endpoint, frame.head);
      }
    }
    void on_link_down(const Error&) override { endpoint.reset(); }
    std::weak_ptr<Host> host;
    std::shared_ptr<Endpoint> endpoint;
  };

  void serve(const std::shared_ptr<Endpoint>& to, const FrameHeader& head) {
    if (head.method == 0) {
      return reply(to, head);
    }
    ask_next(head.method - 1, [this, to, head](const Result<Frame>& answer) {
      if (answer.ok()) {
        reply(to, head);
      } else {
        to->fail(head, answer.error());
      }
    });
  }
  void reply(const std::shared_ptr<Endpoint>& to, const FrameHeader& head) {
    Frame frame;
    frame.head.traffic = head.traffic;
    frame.segments.push_back(reply_);
    to->reply(head, std::move(frame));
  }

  VirtualDriver& driver_;
  const Options options_;
  const Segment reply_;
  std::map<std::size_t, std::shared_ptr<Port>> ports_;
  std::size_t next_ = 0;
};

/// Hosts in a ring (two: one link), each with a link to the next.
struct Ring {
  Ring(std::size_t count, const Host::Options& host, const EndpointOptions& endpoint,
       const SimLinkOptions& link) {
    for (std::size_t h = 0; h < count; ++h) {
      hosts.push_back(std::make_shared<Host>(driver, host));
    }
    for (std::size_t h = 0; h < (count == 2 ? 1 : count); ++h) {
      const std::size_t other = (h + 1) % count;
      auto links = make_sim_link(driver, link);
      hosts[h]->connect(other, std::move(links.first), endpoint);
      hosts[other]->connect(h, std::move(links.second), endpoint);
    }
    for (std::size_t h = 0; h < count; ++h) {
      hosts[h]->set_next((h + 1) % count);
    }
  }
  ~Ring() {
    for (const auto& host : hosts) {
      host->close();
    }
    driver.run_until(driver.now() + 1h);
  }
  VirtualDriver driver;
  std::vector<std::shared_ptr<Host>> hosts;
};

const EndpointOptions small_window{
    .window_bytes = mib, .control_window_bytes = mib, .deadline = 60s};
const SimLinkOptions small_buffers{
    .latency = 10us, .bytes_per_second = 1e9, .buffer_bytes = 16 * kib};

TEST(Deadlock, TwoHostsThatServeEachOtherThroughSmallWindowsAndBuffersEnd) {
  constexpr int requests = 50;
  Ring ring(2, {.reply_bytes = 4 * mib, .class_of = {TrafficClass::rows}}, small_window,
            small_buffers);
  for (int i = 0; i < requests; ++i) {
    ring.hosts[0]->ask(0);
    ring.hosts[1]->ask(0);
  }
  const auto start = ring.driver.now();
  ring.driver.run_until(start + 30s);
  for (const auto& host : ring.hosts) {
    EXPECT_EQ(host->answered, requests);
    EXPECT_EQ(host->stats().max_in_flight_bytes(), 4 * mib + 2 * sizeof(FrameHeader))
        << "one at a time: each is larger than the window";
    // 4 MiB at a buffer per round trip, and nothing much besides.
    EXPECT_LE(host->last_answer - start, requests * 12ms);
  }
}

/// Each level of nesting has a class of its own, as in a run: commands need samples and rows,
/// samples and rows need nothing.
TEST(Deadlock, ARingOfFourThatAsksWhileItServesEnds) {
  using enum TrafficClass;
  constexpr int requests = 8;
  Ring ring(4, {.reply_bytes = 4 * mib, .class_of = {rows, samples, control}}, small_window,
            small_buffers);
  for (int i = 0; i < requests; ++i) {
    for (const auto& host : ring.hosts) {
      for (const std::uint32_t method : {0U, 1U, 2U}) {
        host->ask(method);
      }
    }
  }
  ring.driver.run_until(ring.driver.now() + 30s);
  for (const auto& host : ring.hosts) {
    EXPECT_EQ(host->answered, 3 * requests);
    EXPECT_EQ(host->failed, 0);
  }
}

/// Why that rule: all windows full of requests that wait for the next window. Not even this hangs.
TEST(Deadlock, NestingWithinAClassThroughAFullWindowEndsAtTheDeadlines) {
  using enum TrafficClass;
  Ring ring(4, {.reply_bytes = 4 * mib, .class_of = {rows, rows}}, small_window, small_buffers);
  for (const auto& host : ring.hosts) {
    host->ask(1);
  }
  ring.driver.run_until(ring.driver.now() + 121s);
  int failed = 0;
  for (const auto& host : ring.hosts) {
    EXPECT_EQ(host->answered + host->failed, 1);
    failed += host->failed;
  }
  EXPECT_GT(failed, 0);
}

/// Asks small things at a steady pace and measures how long each takes.
struct Pace {
  Pace(VirtualDriver& d, std::shared_ptr<Endpoint> e, TrafficClass t)
      : driver(d), endpoint(std::move(e)), traffic(t) {}
  void run_until(Clock::time_point end) {
    if (driver.now() >= end) {
      return;
    }
    Frame frame;
    frame.head.traffic = traffic;
    frame.head.method = 100;
    endpoint->request(std::move(frame), 100 + sizeof(FrameHeader),
                      [this, asked = driver.now()](const auto& answer) {
                        EXPECT_OK(answer);
                        ++answered;
                        slowest = std::max(slowest, driver.now() - asked);
                      });
    driver.at(driver.now() + 1ms, [this, end] { run_until(end); });
  }
  VirtualDriver& driver;
  std::shared_ptr<Endpoint> endpoint;
  TrafficClass traffic;
  int answered = 0;
  Clock::duration slowest{};
};

/// Answers with as many bytes as the request names.
class Server final : public RequestHandler {
 public:
  explicit Server(std::size_t most) : zeros_(zeros(most)) {}
  void on_request(Frame&& frame) override {
    Frame reply;
    reply.head.traffic = frame.head.traffic;
    reply.segments.push_back({zeros_.owner, zeros_.bytes.first(frame.head.method)});
    if (const auto at = endpoint.lock()) {
      at->reply(frame.head, std::move(reply));
    }
  }
  void on_link_down(const Error&) override {}
  std::weak_ptr<Endpoint> endpoint;

 private:
  const Segment zeros_;
};

TEST(Fairness, SmallRequestsFlowBesideAGigabyteReply) {
  VirtualDriver driver;
  constexpr double bandwidth = 1e9;
  constexpr auto latency = 10us;
  auto links = make_sim_link(driver, {.latency = latency, .bytes_per_second = bandwidth});
  const EndpointOptions options{.window_bytes = 2 * gib, .serving_bytes = 4 * gib};
  const auto at_server = std::make_shared<Server>(gib);
  const auto client = std::make_shared<Endpoint>(links.first, std::make_shared<Server>(1), options);
  const auto server = std::make_shared<Endpoint>(links.second, at_server, options);
  at_server->endpoint = server;
  client->start();
  server->start();

  const auto start = driver.now();
  std::optional<Clock::duration> took;
  Frame frame;
  frame.head.traffic = TrafficClass::rows;
  frame.head.method = gib;
  client->request(std::move(frame), gib + sizeof(FrameHeader), [&](const Result<Frame>& answer) {
    ASSERT_OK(answer);
    EXPECT_EQ(answer->segments.at(0).bytes.size(), gib);
    took = driver.now() - start;
  });
  Pace same_class(driver, client, TrafficClass::rows);
  Pace other_class(driver, client, TrafficClass::samples);
  for (auto* pace : {&same_class, &other_class}) {
    pace->run_until(start + 1s);
  }
  driver.run_until(start + 2s);

  const std::chrono::nanoseconds piece(
      static_cast<std::int64_t>((max_piece_bytes + sizeof(PieceHeader)) * 1e9 / bandwidth));
  ASSERT_TRUE(took.has_value());
  EXPECT_GE(*took, 1073ms);
  EXPECT_LE(*took, 1080ms) << "and the gigabyte is not held up either";
  for (const auto* pace : {&same_class, &other_class}) {
    EXPECT_EQ(pace->answered, 1000);
    EXPECT_LE(pace->slowest, 2 * piece + 2 * latency + 1us);
  }
  client->close(Error(Errc::cancelled, "end of the test"));
  driver.run_until(driver.now() + 1h);
}

/// A reply beyond the window travels alone in its class: what the window promises. Other classes do
/// not notice.
TEST(Fairness, AReplyLargerThanTheWindowHoldsBackOnlyItsClass) {
  VirtualDriver driver;
  auto links = make_sim_link(driver, {.latency = 10us, .bytes_per_second = 1e9});
  const auto at_server = std::make_shared<Server>(64 * mib);
  const EndpointOptions options{.window_bytes = mib, .control_window_bytes = mib};
  const auto client = std::make_shared<Endpoint>(links.first, std::make_shared<Server>(1), options);
  const auto server = std::make_shared<Endpoint>(links.second, at_server, options);
  at_server->endpoint = server;
  client->start();
  server->start();

  const auto start = driver.now();
  Frame frame;
  frame.head.traffic = TrafficClass::rows;
  frame.head.method = 64 * mib;
  client->request(std::move(frame), 64 * mib + sizeof(FrameHeader),
                  [](const auto& answer) { EXPECT_OK(answer); });
  Pace same_class(driver, client, TrafficClass::rows);
  Pace other_class(driver, client, TrafficClass::samples);
  for (auto* pace : {&same_class, &other_class}) {
    pace->run_until(start + 50ms);
  }
  driver.run_until(start + 1s);

  EXPECT_EQ(same_class.answered, 50);
  EXPECT_GE(same_class.slowest, 60ms);
  EXPECT_EQ(other_class.answered, 50);
  EXPECT_LE(other_class.slowest, 1ms);
  client->close(Error(Errc::cancelled, "end of the test"));
  driver.run_until(driver.now() + 1h);
}

}  // namespace
}  // namespace troupe::net
