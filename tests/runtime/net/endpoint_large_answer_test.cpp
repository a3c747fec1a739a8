// Answers that are larger than their requests announced, and what was really in flight.
#include "tests/runtime/net/cable_test_support.hpp"
#include "tests/runtime/net/endpoint_test_support.hpp"

namespace troupe::net {
namespace {

constexpr std::uint64_t head_bytes = sizeof(FrameHeader);

ClassStats rows_of(const Endpoint& endpoint) {
  return endpoint.stats().classes[static_cast<std::size_t>(TrafficClass::rows)];
}

TEST(EndpointLargeAnswers, AnAnswerOverTheAnnouncedBytesComesOnceThereIsRoomForIt) {
  Ends ends;
  ends.ask(1, request_frame(500), 100);
  ends.run();
  ends.serve(5000);

  ASSERT_EQ(ends.answer_of(1), "ok");
  EXPECT_EQ(ends.answers.at(1)->segments.at(0).bytes.size(), 5000U);
  EXPECT_EQ(ends.at_server->requests.size(), 1U) << "made once";
  const auto client = ends.client->stats();
  EXPECT_EQ(client.requests, 1U);
  EXPECT_EQ(client.asked_again, 1U);
  EXPECT_EQ(client.replies, 1U);
  EXPECT_EQ(client.oversized, 0U);
  EXPECT_EQ(ends.server->stats().too_large, 1U);
  EXPECT_EQ(ends.server->stats().served, 1U);
}

TEST(EndpointLargeAnswers, TheAnnouncedBytesIncludeTheHeader) {
  Ends ends;
  const auto exact = make_frame(TrafficClass::rows, 0, {1000}).size_bytes();
  ends.ask(1, request_frame(500), exact);
  ends.ask(2, request_frame(500), exact - 1);
  ends.run();
  ends.serve(1000);
  EXPECT_EQ(ends.server->stats().too_large, 0U);
  ends.serve(1000);
  EXPECT_EQ(ends.server->stats().too_large, 1U);
  EXPECT_EQ(ends.answer_of(2), "ok");
}

TEST(EndpointLargeAnswers, WaitForTheWindowAtTheirOldPlace) {
  Ends ends({.window_bytes = 3000, .queue_bytes = 10'000});
  for (int i = 1; i <= 3; ++i) {
    ends.ask(i, request_frame(500), 900);  // two at a time
  }
  ends.run();
  ASSERT_EQ(ends.at_server->requests.size(), 2U);

  ends.serve(2300);  // with its request 2888: not beside another
  EXPECT_EQ(ends.answer_of(1), "none");
  EXPECT_EQ(ends.at_server->requests.size(), 2U) << "the third request waits behind the first";
  ends.serve();
  EXPECT_EQ(ends.order, (std::vector{2, 1}));
  ends.serve();
  EXPECT_EQ(ends.order, (std::vector{2, 1, 3}));
  EXPECT_LE(ends.client->stats().max_in_flight_bytes(), 3000U);
}

TEST(EndpointLargeAnswers, TwoLargerThanTheWindowComeOneAfterTheOther) {
  Ends ends({.window_bytes = 3000});
  ends.ask(1, request_frame(500), 900);
  ends.ask(2, request_frame(500), 900);
  ends.run();
  for (const std::size_t i : {0U, 1U}) {
    ends.server->reply(ends.at_server->requests.at(i).head,
                       make_frame(TrafficClass::rows, 0, {50'000}));
  }
  ends.run();

  EXPECT_EQ(ends.order, (std::vector{1, 2}));
  EXPECT_EQ(ends.answer_of(1), "ok");
  EXPECT_EQ(ends.answer_of(2), "ok");
  const auto rows = rows_of(*ends.client);
  EXPECT_EQ(rows.max_in_flight_bytes, 500 + head_bytes + 8 + 50'000);
  EXPECT_EQ(rows.largest_alone_bytes, rows.max_in_flight_bytes);
}

TEST(EndpointLargeAnswers, PassBesideCommandsThatAnswerLate) {
  Ends ends({.window_bytes = 3000, .control_window_bytes = 3000});
  ends.ask(1, request_frame(500, TrafficClass::control), 900);  // an epoch
  ends.ask(2, request_frame(500, TrafficClass::control), 900);  // a state
  ends.run();
  ends.server->reply(ends.at_server->requests.at(1).head,
                     make_frame(TrafficClass::gradients, 0, {50'000}));
  ends.run();
  EXPECT_EQ(ends.answer_of(2), "ok") << "the first may wait for hours";

  ends.ask(3, request_frame(500, TrafficClass::control), 50'000);
  ends.ask(4, request_frame(500, TrafficClass::control), 50'000);
  ends.ask(5, request_frame(500, TrafficClass::control), 900);
  ends.run();
  EXPECT_EQ(ends.at_server->requests.size(), 3U) << "one at a time";
  ends.server->reply(ends.at_server->requests.at(2).head, make_frame(TrafficClass::rows, 0, {9}));
  ends.run();
  EXPECT_EQ(ends.at_server->requests.size(), 5U) << "the window has room for the last one";
  EXPECT_OK(
      check_windows({.window_bytes = 3000, .control_window_bytes = 3000}, ends.client->stats()));
}

TEST(EndpointLargeAnswers, AreDroppedWhenNobodyAsksForThem) {
  Ends ends({.deadline = 10ms}, {.serving_bytes = 60'000, .deadline = 1s});
  ends.ask(1, request_frame(500), 900);
  ends.run();
  ends.run(20ms);  // the client has given up
  ends.serve(50'000);
  EXPECT_EQ(ends.client->stats().dropped, 1U);

  ends.ask(2, request_frame(500), 50'000);
  ends.run();
  EXPECT_EQ(ends.server->stats().refused, 1U) << "the kept answer takes the room";
  ends.run(1s);
  ends.ask(3, request_frame(500), 50'000);
  ends.run();
  ends.serve();
  EXPECT_EQ(ends.answer_of(3), "ok");
}

TEST(EndpointLargeAnswers, AreServedAgainIfTheyWereDropped) {
  Ends ends({.window_bytes = 3000}, {.deadline = 10ms});
  ends.ask(1, request_frame(500), 900);
  ends.ask(2, request_frame(500), 900);
  ends.run();
  ends.serve(2400);
  ends.run(20ms);  // it waits for the second one's room, longer than the server keeps it
  ends.serve();
  ASSERT_EQ(ends.at_server->requests.size(), 3U);
  EXPECT_EQ(ends.at_server->requests[2].head.request, 1U);
  EXPECT_EQ(ends.at_server->requests[2].head.max_reply_bytes, head_bytes + 8 + 2400);
  ends.serve(2400);
  EXPECT_EQ(ends.answer_of(1), "ok");
}

TEST(EndpointLargeAnswers, SurviveACutLink) {
  Cabled ends({.window_bytes = 3000});
  ends.ask(1, request_frame(500), 900);
  ends.ask(2, request_frame(500), 900);
  ends.run();
  ends.server->reply(ends.at_server->requests.at(0).head,
                     make_frame(TrafficClass::rows, 0, {2400}));
  ends.cut();  // the size is lost
  ends.run();
  ends.cable->heal();
  ends.run(100ms);
  EXPECT_EQ(ends.answer_of(1), "none") << "the second one has the window";
  EXPECT_EQ(ends.client->stats().asked_again, 1U);
  ends.answer(1);
  ends.run();
  EXPECT_EQ(ends.answer_of(2), "ok");
  EXPECT_EQ(ends.answer_of(1), "ok");
  EXPECT_EQ(ends.at_server->requests.size(), 2U) << "it was kept";
}

// ---- a peer that breaks the rule ----

/// A client endpoint whose peer is a bare link.
struct BareServer {
  BareServer() {
    std::tie(link, other) = make_sim_link(driver, {});
    recorder = std::make_shared<Recorder>(link);
    endpoint = std::make_shared<Endpoint>(other, std::make_shared<Handler>(), EndpointOptions{});
    link->start(recorder);
    endpoint->start();
  }
  ~BareServer() {
    link->close(Error(Errc::cancelled, "end of the test"));
    run();
  }
  void run() { driver.run_until(driver.now() + 1ms); }
  void ask(std::uint64_t reply_bytes) {
    endpoint->request(request_frame(500), reply_bytes,
                      [this](Result<Frame> answer) { answers.push_back(std::move(answer)); });
    run();
  }
  void send(FrameKind kind, std::uint64_t request, std::size_t bytes, std::uint64_t size = 0) {
    Frame frame = make_frame(TrafficClass::rows, request, {bytes});
    frame.head.kind = kind;
    frame.head.method = 2;
    frame.head.max_reply_bytes = size;
    link->send(std::move(frame));
    run();
  }

  VirtualDriver driver;
  std::shared_ptr<Link> link, other;
  std::shared_ptr<Recorder> recorder;
  std::shared_ptr<Endpoint> endpoint;
  std::vector<Result<Frame>> answers;
};

TEST(EndpointLargeAnswers, OneThatIsSentAllTheSameEndsItsRequestOnly) {
  BareServer peer;
  peer.ask(1000);
  peer.send(FrameKind::reply, 1, 1000);
  ASSERT_EQ(peer.answers.size(), 1U);
  EXPECT_ERROR(peer.answers[0], Errc::data_corruption,
               "request 1 (method 2): expected an answer of at most the 1000 bytes that it "
               "announced, found 1088");
  EXPECT_EQ(peer.endpoint->stats().oversized, 1U);
  EXPECT_ERROR(check_windows({}, peer.endpoint->stats()), Errc::internal, "1 answers");

  peer.ask(1088);
  peer.send(FrameKind::reply, 2, 1000);
  ASSERT_EQ(peer.answers.size(), 2U);
  EXPECT_OK(peer.answers[1]);
}

TEST(EndpointLargeAnswers, ASizeThatWasAnnouncedIsRefused) {
  BareServer peer;
  peer.ask(1000);
  peer.send(FrameKind::too_large, 1, 0, 1000);
  ASSERT_EQ(peer.answers.size(), 1U);
  EXPECT_ERROR(peer.answers[0], Errc::data_corruption, "larger than the 1000 bytes");
}

TEST(EndpointLargeAnswers, AFailureMayTakeItsLargestSizeAndNoMore) {
  Frame largest;
  encode_error(Error(Errc::internal, std::string(10'000, 'x')), largest);
  EXPECT_LE(largest.size_bytes(), largest_failure_bytes);

  Ends ends;
  ends.ask(1, request_frame(500), 100);
  ends.run();
  ends.server->fail(ends.at_server->requests.at(0).head,
                    Error(Errc::not_found, std::string(4000, 'x')));
  ends.run();
  EXPECT_EQ(ends.answers.at(1).error().code(), Errc::not_found);

  BareServer peer;
  peer.ask(100);
  peer.send(FrameKind::failure, 1, largest_failure_bytes);
  ASSERT_EQ(peer.answers.size(), 1U);
  EXPECT_ERROR(peer.answers[0], Errc::data_corruption, "at most the 100 bytes");
}

TEST(EndpointLargeAnswers, AnAbsurdSizeWaitsNoLongerThanItsDeadline) {
  BareServer peer;
  peer.ask(1000);
  peer.send(FrameKind::too_large, 1, 0, ~std::uint64_t{0});
  EXPECT_TRUE(peer.answers.empty());
  peer.ask(1000);
  peer.driver.run_until(peer.driver.now() + 2min);
  ASSERT_EQ(peer.answers.size(), 2U);
  EXPECT_EQ(peer.answers[0].error().code(), Errc::deadline_exceeded);
}

// ---- what was really in flight ----

TEST(EndpointWindows, CountRequestsAndAnswersAsTheyAre) {
  Ends ends;
  ends.ask(1, request_frame(500), 10'000);
  ends.ask(2, request_frame(600), 10'000);
  ends.run();
  ends.serve(1000);
  ends.serve(2000);
  ends.ask(3, request_frame(700), 10'000);
  ends.run();
  ends.serve(100);

  const auto rows = rows_of(*ends.client);
  EXPECT_EQ(rows.max_charged_bytes, 500U + 600U + 20'000U);
  EXPECT_EQ(rows.max_in_flight_bytes, 500 + 1000 + 600 + 2000 + 2 * (head_bytes + 8));
  EXPECT_EQ(rows.largest_alone_bytes, 0U);
  EXPECT_EQ(ends.client->stats().max_in_flight_bytes(), rows.max_in_flight_bytes);
}

TEST(EndpointWindows, AreCheckedAgainstWhatWasInFlight) {
  const EndpointOptions options{.window_bytes = 1000,
                                .control_window_bytes = 2000,
                                .gradient_window_bytes = 3000,
                                .queue_bytes = 500};
  const auto with = [&](TrafficClass traffic, const ClassStats& of) {
    EndpointStats stats;
    stats.classes[static_cast<std::size_t>(traffic)] = of;
    return check_windows(options, stats);
  };
  using enum TrafficClass;
  EXPECT_OK(with(rows, {.max_in_flight_bytes = 1000}));
  EXPECT_ERROR(with(rows, {.max_in_flight_bytes = 1001}), Errc::internal,
               "bytes in flight in class rows: expected at most 1000 bytes, found 1001");
  EXPECT_ERROR(with(samples, {.max_in_flight_bytes = 1001}), Errc::internal, "class samples");
  EXPECT_OK(with(control, {.max_in_flight_bytes = 2000}));
  EXPECT_ERROR(with(control, {.max_in_flight_bytes = 2001}), Errc::internal, "class control");
  EXPECT_OK(with(gradients, {.max_in_flight_bytes = 3000}));
  EXPECT_ERROR(with(gradients, {.max_in_flight_bytes = 3001}), Errc::internal, "class gradients");
  EXPECT_OK(with(rows, {.max_in_flight_bytes = 5000, .largest_alone_bytes = 5000}));
  EXPECT_ERROR(with(rows, {.max_in_flight_bytes = 5001, .largest_alone_bytes = 5000}),
               Errc::internal, "at most 5000");
  EXPECT_OK(with(control, {.max_in_flight_bytes = 7000, .largest_alone_bytes = 5000}));
  EXPECT_ERROR(with(control, {.max_in_flight_bytes = 7001, .largest_alone_bytes = 5000}),
               Errc::internal, "at most 7000");
  EXPECT_OK(with(rows, {.max_queued_bytes = 1500, .largest_queued_bytes = 200}));
  EXPECT_ERROR(with(rows, {.max_queued_bytes = 1501, .largest_queued_bytes = 200}), Errc::internal,
               "bytes queued in class rows: expected at most 1500 bytes, found 1501");
  EXPECT_OK(with(rows, {.max_queued_bytes = 1900, .largest_queued_bytes = 900}));
}

}  // namespace
}  // namespace troupe::net
