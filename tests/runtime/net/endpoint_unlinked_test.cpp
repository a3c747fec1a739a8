// Endpoints that begin without a link, and reasons for which there will be none.
#include "tests/runtime/net/cable_test_support.hpp"

namespace troupe::net {
namespace {

/// An endpoint without a link on a virtual clock.
struct Unlinked {
  explicit Unlinked(Clock::duration recovery = 10s, std::shared_ptr<LinkSource> source = nullptr) {
    EndpointOptions options;
    options.timers = &driver;
    options.recovery_deadline = recovery;
    options.source = std::move(source);
    options.name = "link a to b";
    endpoint = std::make_shared<Endpoint>(nullptr, handler, options);
  }
  ~Unlinked() {
    endpoint->close(Error(Errc::cancelled, "end of the test"));
    run(1h);
  }
  void run(Clock::duration d) { driver.run_until(driver.now() + d); }
  void ask(std::optional<Clock::duration> deadline = {}) {
    endpoint->request(
        request_frame(200), 100, [this](Result<Frame> r) { answer = testing::error_text(r); },
        deadline);
  }

  VirtualDriver driver;
  std::shared_ptr<RecoveringHandler> handler = std::make_shared<RecoveringHandler>();
  std::shared_ptr<Endpoint> endpoint;
  std::string answer = "none";
};

TEST(EndpointWithoutALink, IsInterruptedFromTheStartAndKeepsRequestsForTheFirstLink) {
  Unlinked a;
  a.endpoint->start();
  a.ask();
  EXPECT_TRUE(a.endpoint->interrupted());
  a.run(5s);
  EXPECT_EQ(a.answer, "none");
  auto links = make_sim_link(a.driver, {});
  const auto at_server = std::make_shared<RecoveringHandler>();
  const auto server = std::make_shared<Endpoint>(links.second, at_server, EndpointOptions{});
  server->start();

  EXPECT_TRUE(a.endpoint->attach(links.first));
  a.run(1ms);

  EXPECT_FALSE(a.endpoint->interrupted());
  ASSERT_EQ(at_server->requests.size(), 1U);
  server->reply(at_server->requests[0].head, make_frame(TrafficClass::rows, 0, {1}));
  a.run(1ms);
  EXPECT_EQ(a.answer, "ok");
  EXPECT_EQ(a.endpoint->stats().interruptions, 0U) << "the first link interrupts nothing";
}

TEST(EndpointWithoutALink, EndsAfterTheRecoveryDeadline) {
  Unlinked a(3s);
  a.endpoint->start();
  a.ask();

  a.run(2s);
  EXPECT_TRUE(a.handler->downs.empty());
  a.run(2s);

  ASSERT_EQ(a.handler->downs.size(), 1U);
  EXPECT_EQ(a.handler->downs[0].code(), Errc::peer_lost);
  EXPECT_EQ(a.answer.substr(0, 9), "peer_lost");
  auto links = make_sim_link(a.driver, {});
  EXPECT_FALSE(a.endpoint->attach(links.first));
}

TEST(EndpointWithoutALink, RequestsKeepTheirOwnDeadline) {
  Unlinked a;
  a.endpoint->start();
  a.ask(1s);

  a.run(2s);

  EXPECT_EQ(a.answer.substr(0, 17), "deadline_exceeded") << a.answer;
  EXPECT_TRUE(a.endpoint->interrupted());
}

TEST(EndpointWithoutALink, CanBeClosed) {
  Unlinked a;
  a.endpoint->start();
  a.ask();

  a.endpoint->close(Error(Errc::cancelled, "over"));
  a.run(1ms);

  ASSERT_EQ(a.handler->downs.size(), 1U);
  EXPECT_EQ(a.answer, "cancelled: over");
}

// ---- why there is none ----

TEST(EndpointNotConnected, TheLastReasonIsToldAtTheEnd) {
  Unlinked a(3s);
  a.endpoint->start();
  a.endpoint->not_connected(Error(Errc::peer_lost, "first"));
  a.endpoint->not_connected(Error(Errc::peer_lost, "127.0.0.1:4000: connection refused"));

  a.run(4s);

  ASSERT_EQ(a.handler->downs.size(), 1U);
  EXPECT_NE(a.handler->downs[0].what().find("127.0.0.1:4000: connection refused"),
            std::string::npos)
      << a.handler->downs[0].what();
}

TEST(EndpointNotConnected, FinalReasonsEndItAtOnce) {
  for (const auto code :
       {Errc::unauthenticated, Errc::fenced, Errc::unimplemented, Errc::invalid_argument}) {
    Unlinked a;
    a.endpoint->start();
    a.ask();

    a.endpoint->not_connected(Error(code, "no"));
    a.run(1ms);

    ASSERT_EQ(a.handler->downs.size(), 1U) << to_string(code);
    EXPECT_EQ(a.handler->downs[0].code(), code);
    EXPECT_EQ(a.answer, std::string(to_string(code)) + ": no");
  }
}

TEST(EndpointNotConnected, OtherReasonsAreWaitedOut) {
  for (const auto code : {Errc::peer_lost, Errc::deadline_exceeded, Errc::overloaded,
                          Errc::failed_precondition, Errc::data_corruption}) {
    Unlinked a;
    a.endpoint->start();

    a.endpoint->not_connected(Error(code, "later"));
    a.run(1s);

    EXPECT_TRUE(a.handler->downs.empty()) << to_string(code);
  }
}

/// Fails always with one code.
class RefusingDialer final : public Dialer {
 public:
  RefusingDialer(VirtualDriver& driver, Errc code) : driver_(driver), code_(code) {}
  void dial(std::function<void(Result<std::shared_ptr<Link>>)> done) override {
    ++dials;
    driver_.at(driver_.now(), [done, code = code_] { done(Error(code, "go away")); });
  }
  int dials = 0;

 private:
  VirtualDriver& driver_;
  const Errc code_;
};

TEST(ReconnectorOfAnUnlinkedEndpoint, StopsAtAFinalErrorAndGoesOnAtOthers) {
  const auto dials_in_a_second = [](Errc code) {
    VirtualDriver driver;
    const auto dialer = std::make_shared<RefusingDialer>(driver, code);
    EndpointOptions options;
    options.timers = &driver;
    options.recovery_deadline = 10s;
    options.source = std::make_shared<Reconnector>(driver, dialer, ReconnectOptions{});
    const auto handler = std::make_shared<RecoveringHandler>();
    const auto endpoint = std::make_shared<Endpoint>(nullptr, handler, options);
    endpoint->start();
    driver.run_until(driver.now() + 1s);
    const int dials = dialer->dials;
    endpoint->close(Error(Errc::cancelled, "end of the test"));
    driver.run_until(driver.now() + 1h);
    EXPECT_EQ(handler->downs.size(), 1U);
    return dials;
  };
  EXPECT_EQ(dials_in_a_second(Errc::fenced), 1);
  EXPECT_EQ(dials_in_a_second(Errc::unauthenticated), 1);
  EXPECT_EQ(dials_in_a_second(Errc::unimplemented), 1);
  EXPECT_EQ(dials_in_a_second(Errc::invalid_argument), 1);
  EXPECT_EQ(dials_in_a_second(Errc::peer_lost), 7);
}

}  // namespace
}  // namespace troupe::net
