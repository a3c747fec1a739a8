// Random plans of cuts, changes of speed and load on two endpoints; one virtual clock, one seed.
#include "runtime/base/philox.hpp"
#include "tests/runtime/net/cable_test_support.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <set>
#include <string>
#include <xxhash.h>

namespace troupe::net {
namespace {

/// The numbers of one plan.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_({{20, 26}}, seed) {}
  std::uint64_t below(std::uint64_t n) { return stream_.below(static_cast<std::uint32_t>(n)); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::chrono::microseconds us(std::uint64_t n) {
    return std::chrono::microseconds(static_cast<std::int64_t>(below(n)));
  }

 private:
  DrawStream stream_;
};

/// Everything that happened, as one number.
class EventLog {
 public:
  explicit EventLog(const VirtualDriver& driver) : driver_(driver) {}
  void add(std::uint64_t what, std::uint64_t id, std::uint64_t more = 0) {
    const std::array<std::uint64_t, 5> words{
        digest_, static_cast<std::uint64_t>(driver_.now().time_since_epoch().count()), what, id,
        more};
    digest_ = XXH3_64bits(words.data(), sizeof words);
  }
  std::uint64_t digest() const { return digest_; }

 private:
  const VirtualDriver& driver_;
  std::uint64_t digest_ = 0;
};

/// Watches what an endpoint sends over one link: each request once, the open ones first and in order.
/// One whose answer is too large comes again, with more room for the answer.
class Tap final : public Link {
 public:
  Tap(std::shared_ptr<Link> link, EventLog& log, std::uint64_t end)
      : link_(std::move(link)), log_(log), end_(end) {}
  void start(std::shared_ptr<LinkEvents> events) override { link_->start(std::move(events)); }
  void send(Frame&& frame) override {
    log_.add(end_, frame.head.request, static_cast<std::uint64_t>(frame.head.kind));
    if (frame.head.kind == FrameKind::request) {
      auto& last = last_[static_cast<std::size_t>(frame.head.traffic)];
      auto& room = room_[frame.head.request];
      EXPECT_TRUE(frame.head.request > last || frame.head.max_reply_bytes > room)
          << "sent twice over one link, or out of order";
      last = std::max(last, frame.head.request);
      room = frame.head.max_reply_bytes;
    }
    link_->send(std::move(frame));
  }
  void close(Error why) override { link_->close(std::move(why)); }
  Clock::time_point now() const override { return link_->now(); }
  void after(Clock::duration delay, std::function<void()> f) override {
    link_->after(delay, std::move(f));
  }

 private:
  const std::shared_ptr<Link> link_;
  EventLog& log_;
  const std::uint64_t end_;
  std::array<std::uint64_t, traffic_classes> last_{};
  std::map<std::uint64_t, std::uint64_t> room_;  // by request id
};

class TapDialer final : public Dialer {
 public:
  TapDialer(std::shared_ptr<Dialer> dialer, EventLog& log)
      : dialer_(std::move(dialer)), log_(log) {}
  void dial(std::function<void(Result<std::shared_ptr<Link>>)> done) override {
    dialer_->dial([&log = log_, done = std::move(done)](Result<std::shared_ptr<Link>> link) {
      if (link) {
        done(std::shared_ptr<Link>(std::make_shared<Tap>(*std::move(link), log, 0)));
      } else {
        done(std::move(link));
      }
    });
  }

 private:
  const std::shared_ptr<Dialer> dialer_;
  EventLog& log_;
};

/// Contents that only the right answer has.
Segment contents(std::uint64_t number, std::size_t bytes) {
  std::vector<std::uint64_t> words(bytes / 8 + 1, number);
  words.back() = ~number;
  return Segment::of(std::move(words));
}

constexpr std::uint64_t window = 1'000'000;
constexpr std::uint64_t queue = 100'000;

EndpointOptions small_windows() {
  return {.window_bytes = window,
          .control_window_bytes = 0,
          .queue_bytes = queue,
          .serving_bytes = 8'000'000,
          .deadline = 1h,
          .recovery_deadline = 2s};
}

struct Ask {
  std::size_t end = 0;
  std::uint64_t number = 0;
  std::uint32_t request_bytes = 0;
  std::uint32_t reply_bytes = 0;
  std::uint64_t announced_bytes = 0;
  TrafficClass traffic{};
};

/// Two peers that ask each other.
struct Faults;

/// Answers after a while, from its own books: at most one answer at a time per request.
class Echo final : public RequestHandler {
 public:
  Echo(Faults& faults, std::size_t end) : faults_(faults), end_(end) {}
  void on_request(Frame&& frame) override;
  void on_link_down(const Error& why) override { downs.push_back(why); }

  std::set<std::uint64_t> serving;
  std::vector<Error> downs;

 private:
  Faults& faults_;
  const std::size_t end_;
};

struct Faults {
  explicit Faults(std::uint64_t seed) : dice(seed), log(driver) {
    cable = SimCable::make(driver, {.latency = dice.us(200),
                                    .bytes_per_second = dice.one_in(3) ? 0 : 1e8,
                                    .buffer_bytes = dice.one_in(3) ? 16'384U : 0U});
    auto options = small_windows();
    options.timers = &driver;
    auto links = cable->connect();
    for (const std::size_t end : {0U, 1U}) {
      handlers[end] = std::make_shared<Echo>(*this, end);
      options.name = end == 0 ? "link a to b" : "link b to a";
      options.source = end == 0 ? std::make_shared<Reconnector>(
                                      driver, std::make_shared<TapDialer>(cable->dialer(), log),
                                      ReconnectOptions{})
                                : nullptr;
      ends[end] = std::make_shared<Endpoint>(
          std::make_shared<Tap>(end == 0 ? links.first : links.second, log, end), handlers[end],
          options);
      ends[end]->start();
    }
    cable->on_accept([this](std::shared_ptr<Link> link) {
      ends[1]->attach(std::make_shared<Tap>(std::move(link), log, 1));
    });
  }
  ~Faults() {
    for (const auto& end : ends) {
      end->close(Error(Errc::cancelled, "end of the test"));
    }
    driver.run_until(driver.now() + 1min);
  }

  /// A request whose answer is known; asked again after a pause when there was no room for it.
  void ask(const Ask& what) {
    Frame frame;
    frame.head.traffic = what.traffic;
    frame.head.method = what.reply_bytes;
    frame.segments.push_back(contents(what.number, what.request_bytes));
    ends[what.end]->request(
        std::move(frame), what.announced_bytes, [=, this](const Result<Frame>& answer) {
          log.add(2 + what.end, what.number, answer.ok() ? answer->size_bytes() : 0);
          if (!answer.ok() && answer.error().code() == Errc::overloaded) {
            ++overloaded;
            driver.at(driver.now() + 10ms, [=, this] { ask(what); });
            return;
          }
          EXPECT_TRUE(answered.insert(what.number).second) << "answered twice: " << what.number;
          if (answer.ok()) {
            EXPECT_TRUE(same_bytes(answer->segments.at(0), contents(what.number, what.reply_bytes)))
                << what.number;
          } else {
            errors.push_back(answer.error());
          }
        });
  }

  std::uint32_t size() {
    const std::uint64_t most = dice.one_in(10) ? 90'000 : dice.one_in(3) ? 20'000 : 100;
    return static_cast<std::uint32_t>(dice.below(most));
  }

  void plan_requests(std::uint64_t count, std::chrono::microseconds within) {
    for (std::uint64_t i = 1; i <= count; ++i) {
      Ask what{.end = static_cast<std::size_t>(dice.below(2)), .number = i};
      what.traffic = static_cast<TrafficClass>(dice.below(traffic_classes));
      what.request_bytes = size();
      // Now and then one of several pieces.
      what.reply_bytes = dice.one_in(50) ? static_cast<std::uint32_t>(dice.below(900'000)) : size();
      what.announced_bytes = dice.one_in(8)
                                 ? what.reply_bytes / 2
                                 : sizeof(FrameHeader) + contents(0, what.reply_bytes).bytes.size();
      driver.at(driver.now() + dice.us(static_cast<std::uint64_t>(within.count())),
                [=, this] { ask(what); });
    }
  }

  /// Cuts that all heal within the recovery deadline, and changes of speed.
  void plan_faults(std::uint64_t most, std::chrono::microseconds within) {
    auto t = driver.now();
    const auto count = dice.below(most + 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      t += dice.us(static_cast<std::uint64_t>(within.count() / static_cast<std::int64_t>(most)));
      SimCut how{.lose_in_flight = dice.one_in(2)};
      for (auto& notice : how.notice) {
        notice = dice.one_in(2) ? dice.us(100) : dice.us(100'000);
      }
      driver.at(t, [this, how] {
        log.add(8, 0);
        cable->cut(Error(Errc::peer_lost, "the cable is cut"), how);
      });
      // A cut may be over before anyone noticed.
      t += dice.one_in(3) ? dice.us(50) : dice.us(300'000);
      const auto latency = dice.us(400);
      const double bandwidth = dice.one_in(2) ? 0 : 1e6 * static_cast<double>(20 + dice.below(200));
      driver.at(t, [this, latency, bandwidth] {
        log.add(9, 0);
        cable->heal();
        cable->set_latency(latency);
        cable->set_bandwidth(bandwidth);
      });
    }
  }

  void check_limits() const {
    for (const auto& end : ends) {
      EXPECT_OK(check_windows(small_windows(), end->stats()));
      EXPECT_LE(end->stats().max_in_flight_bytes(), window);
    }
  }

  Dice dice;
  VirtualDriver driver;
  EventLog log;
  std::shared_ptr<SimCable> cable;
  std::array<std::shared_ptr<Echo>, 2> handlers;
  std::array<std::shared_ptr<Endpoint>, 2> ends;
  std::set<std::uint64_t> answered;
  std::vector<Error> errors;
  std::uint64_t overloaded = 0;
};

void Echo::on_request(Frame&& frame) {
  const auto head = frame.head;
  const auto words = frame.segments.at(0).as<std::uint64_t>();
  const std::uint64_t number = words.size() == 1 ? ~words[0] : words[0];
  faults_.log.add(4 + end_, head.request, number);
  EXPECT_TRUE(serving.insert(head.request).second) << "served twice at once: " << head.request;
  const auto pause = faults_.dice.one_in(4) ? faults_.dice.us(50'000) : faults_.dice.us(200);
  faults_.driver.at(faults_.driver.now() + pause, [this, head, number] {
    Frame reply;
    reply.head.traffic = head.traffic;
    reply.segments.push_back(contents(number, head.method));
    serving.erase(head.request);
    faults_.ends[end_]->reply(head, std::move(reply));
  });
}

struct FaultOutcome {
  std::uint64_t digest = 0;
  std::uint64_t interruptions = 0;
  std::uint64_t resent = 0;
  std::uint64_t overloaded = 0;
  std::uint64_t too_large = 0;
};

constexpr std::uint64_t requests = 80;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t seeds = 200;  // many times slower there
#else
constexpr std::uint64_t seeds = 2000;
#endif

FaultOutcome run_plan(std::uint64_t seed) {
  Faults faults(seed);
  faults.plan_requests(requests, 400ms);
  faults.plan_faults(4, 600ms);
  faults.driver.run_until(faults.driver.now() + 30s);

  EXPECT_EQ(faults.answered.size(), requests);
  for (const auto& error : faults.errors) {
    ADD_FAILURE() << to_string(error.code()) << ": " << error.what();
  }
  faults.check_limits();
  FaultOutcome outcome{.digest = faults.log.digest(), .overloaded = faults.overloaded};
  for (const auto& end : faults.ends) {
    outcome.interruptions += end->stats().interruptions;
    outcome.resent += end->stats().resent;
    outcome.too_large += end->stats().too_large;
    EXPECT_EQ(end->stats().expired, 0U);
    EXPECT_EQ(end->stats().refused, 0U);
  }
  return outcome;
}

/// TROUPE_TEST_SEED=N runs that seed alone.
std::optional<std::uint64_t> seed_from_environment() {
  const char* text = std::getenv("TROUPE_TEST_SEED");
  return text == nullptr ? std::nullopt : std::optional(std::strtoull(text, nullptr, 10));
}

template <class Check>
void for_seeds(std::uint64_t count, Check check) {
  const auto only = seed_from_environment();
  for (std::uint64_t seed = only.value_or(1); seed <= only.value_or(count); ++seed) {
    SCOPED_TRACE(fmt::format("TROUPE_TEST_SEED={}", seed));
    check(seed);
    if (::testing::Test::HasFailure()) {
      return;
    }
  }
}

TEST(EndpointFaults, EveryRequestGetsItsAnswerOverCutsThatHeal) {
  FaultOutcome all;
  for_seeds(seeds, [&](std::uint64_t seed) {
    const auto outcome = run_plan(seed);
    all.interruptions += outcome.interruptions;
    all.resent += outcome.resent;
    all.overloaded += outcome.overloaded;
    all.too_large += outcome.too_large;
  });
  RecordProperty("interruptions", std::to_string(all.interruptions));
  RecordProperty("resent", std::to_string(all.resent));
  RecordProperty("overloaded", std::to_string(all.overloaded));
  if (!seed_from_environment()) {
    EXPECT_GT(all.interruptions, 2 * seeds);
    EXPECT_GT(all.resent, 2 * seeds);
    EXPECT_GT(all.overloaded, 0U);
    EXPECT_GT(all.too_large, 5 * seeds);
  }
}

TEST(EndpointFaults, ASeedReplaysExactly) {
  std::set<std::uint64_t> digests;
  for_seeds(seeds / 10, [&](std::uint64_t seed) {
    const auto digest = run_plan(seed).digest;
    EXPECT_EQ(run_plan(seed).digest, digest);
    digests.insert(digest);
  });
  if (!seed_from_environment()) {
    EXPECT_EQ(digests.size(), seeds / 10);
  }
}

TEST(EndpointFaults, ACutLongerThanTheDeadlineAnswersEverythingAndNamesTheLink) {
  for_seeds(seeds / 10, [&](std::uint64_t seed) {
    Faults faults(seed);
    faults.plan_requests(requests, 400ms);
    faults.driver.at(faults.driver.now() + faults.dice.us(300'000), [&] {
      faults.cable->cut(Error(Errc::peer_lost, "the cable is cut"),
                        {.notice = {faults.dice.us(1000), faults.dice.us(1000)}});
    });
    faults.driver.run_until(faults.driver.now() + 10s);

    EXPECT_EQ(faults.answered.size(), requests);
    EXPECT_FALSE(faults.errors.empty());
    for (const auto& error : faults.errors) {
      EXPECT_EQ(error.code(), Errc::peer_lost);
      EXPECT_TRUE(error.what().starts_with("link a to b: down for 2000 ms") ||
                  error.what().starts_with("link b to a: down for 2000 ms"))
          << error.what();
    }
    for (const auto& handler : faults.handlers) {
      ASSERT_EQ(handler->downs.size(), 1U);
    }
    faults.check_limits();
  });
}

}  // namespace
}  // namespace troupe::net
