#include "runtime/net/endpoint.hpp"

#include "tests/runtime/net/endpoint_test_support.hpp"

namespace troupe::net {
namespace {

TEST(Endpoint, CarriesARequestAndItsReply) {
  Ends ends;
  ends.ask(1, request_frame(500), 4000);
  ends.run();

  ASSERT_EQ(ends.at_server->requests.size(), 1U);
  const auto head = ends.at_server->requests[0].head;
  EXPECT_EQ(head.kind, FrameKind::request);
  EXPECT_EQ(head.target, 42U);
  EXPECT_EQ(head.method, 2U);
  EXPECT_EQ(head.request, 1U);
  EXPECT_EQ(head.max_reply_bytes, 4000U);
  EXPECT_EQ(ends.answer_of(1), "none");

  ends.serve(77);
  ASSERT_EQ(ends.answer_of(1), "ok");
  const Frame& reply = *ends.answers.at(1);
  EXPECT_EQ(reply.head.kind, FrameKind::reply);
  EXPECT_EQ(reply.head.method, 2U);
  EXPECT_EQ(reply.head.request, 1U);
  EXPECT_EQ(reply.head.max_reply_bytes, 0U);
  EXPECT_EQ(reply.segments.at(0).bytes.size(), 77U);
}

TEST(Endpoint, MatchesRepliesInAnyOrder) {
  Ends ends;
  for (int i = 1; i <= 3; ++i) {
    ends.ask(i, request_frame(500), 100);
  }
  ends.run();
  for (const std::size_t i : {2U, 0U, 1U}) {
    ends.server->reply(ends.at_server->requests.at(i).head,
                       make_frame(TrafficClass::rows, 0, {i + 1}));
    ends.run();
  }
  EXPECT_EQ(ends.order, (std::vector{3, 1, 2}));
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(ends.answers.at(i)->segments.at(0).bytes.size(), static_cast<std::size_t>(i));
  }
}

TEST(Endpoint, CarriesAFailure) {
  Ends ends;
  ends.ask(1, request_frame(500), 100);
  ends.run();
  ends.server->fail(ends.at_server->requests.at(0).head, Error(Errc::not_found, "no part 7 here"));
  ends.run();
  EXPECT_EQ(ends.answer_of(1), "not_found: no part 7 here");
}

TEST(Endpoint, IgnoresASecondAnswerAndAnswersToNothing) {
  Ends ends;
  ends.ask(1, request_frame(500), 100);
  ends.run();
  const auto head = ends.at_server->requests.at(0).head;
  ends.serve();
  ends.server->reply(head, make_frame(TrafficClass::rows, 0, {1}));
  ends.server->fail(head, Error(Errc::internal, "again"));
  FrameHeader unknown = head;
  unknown.request = 99;
  ends.server->fail(unknown, Error(Errc::internal, "never asked"));
  ends.run();

  EXPECT_EQ(ends.order.size(), 1U);
  EXPECT_EQ(ends.server->stats().served, 1U);
  EXPECT_EQ(ends.client->stats().dropped, 0U);
}

// ---- window and queue ----

TEST(Endpoint, WindowHoldsBackWhatDoesNotFitAndKeepsTheOrder) {
  Ends ends({.window_bytes = 3000, .queue_bytes = 10'000});
  for (int i = 1; i <= 5; ++i) {
    ends.ask(i, request_frame(500), 700);  // two at a time
  }
  ends.run();
  EXPECT_EQ(ends.at_server->requests.size(), 2U);

  ends.serve();
  EXPECT_EQ(ends.at_server->requests.size(), 3U);
  for (int i = 2; i <= 5; ++i) {
    ends.serve();
  }
  EXPECT_EQ(ends.order, (std::vector{1, 2, 3, 4, 5}));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(ends.at_server->requests[i].head.request, i + 1);
  }
  const auto stats = ends.client->stats();
  EXPECT_EQ(stats.classes[static_cast<std::size_t>(TrafficClass::rows)].max_charged_bytes, 2400U);
  EXPECT_EQ(stats.max_queued_bytes(), 1500U);
  EXPECT_EQ(stats.requests, 5U);
  EXPECT_EQ(stats.replies, 5U);
}

TEST(Endpoint, RefusesBeyondTheQueueAtOnce) {
  Ends ends({.window_bytes = 1000, .queue_bytes = 1000});
  for (int i = 1; i <= 4; ++i) {
    ends.ask(i, request_frame(500), 500);
  }
  EXPECT_EQ(ends.order, (std::vector{4}));
  EXPECT_EQ(ends.answers.at(4).error().code(), Errc::overloaded);
  EXPECT_NE(ends.answer_of(4).find("1000 of 1000"), std::string::npos) << ends.answer_of(4);
  EXPECT_EQ(ends.client->stats().overloaded, 1U);

  ends.run();
  for (int i = 1; i <= 3; ++i) {
    ends.serve();
    EXPECT_EQ(ends.answer_of(i), "ok");
  }
  ends.ask(5, request_frame(500), 500);
  ends.run();
  ends.serve();
  EXPECT_EQ(ends.answer_of(5), "ok");
}

TEST(Endpoint, QueueOfNothingRefusesWhatDoesNotFit) {
  Ends ends({.window_bytes = 1000, .queue_bytes = 0});
  ends.ask(1, request_frame(500), 500);
  ends.ask(2, request_frame(500), 500);
  EXPECT_EQ(ends.order, (std::vector{2}));
}

TEST(Endpoint, ALargeItemPassesAlone) {
  Ends ends({.window_bytes = 1000, .queue_bytes = 1000});
  ends.ask(1, request_frame(500), 100);
  ends.ask(2, request_frame(5000), ~std::uint64_t{0});
  ends.ask(3, request_frame(200), 100);
  ends.run();
  EXPECT_EQ(ends.at_server->requests.size(), 1U) << "not beside another";
  EXPECT_EQ(ends.order, (std::vector{3})) << "the queue is full with the large one";

  ends.serve();
  EXPECT_EQ(ends.at_server->requests.size(), 2U);
  ends.ask(4, request_frame(200), 100);
  ends.run();
  EXPECT_EQ(ends.at_server->requests.size(), 2U) << "nothing beside it";
  ends.serve();
  ends.serve();
  EXPECT_EQ(ends.answer_of(2), "ok");
  EXPECT_EQ(ends.answer_of(4), "ok");
}

TEST(Endpoint, AFullWindowHoldsBackNoOtherClass) {
  Ends ends({.window_bytes = 1000, .queue_bytes = 1000});
  ends.ask(1, request_frame(500, TrafficClass::gradients), 500);
  ends.ask(2, request_frame(500, TrafficClass::gradients), 500);
  ends.ask(3, request_frame(500, TrafficClass::rows), 500);
  ends.run();
  ASSERT_EQ(ends.at_server->requests.size(), 2U);
  EXPECT_EQ(ends.at_server->requests[1].head.traffic, TrafficClass::rows);
}

TEST(Endpoint, CommandsDoNotWaitForEachOtherInASmallWindow) {
  Ends ends({.window_bytes = 1000, .queue_bytes = 1000});
  ends.ask(1, request_frame(500, TrafficClass::control), 64'000);
  ends.ask(2, request_frame(500, TrafficClass::control), 64'000);
  ends.run();
  EXPECT_EQ(ends.at_server->requests.size(), 2U);
}

TEST(Endpoint, GradientsHaveAWindowOfTheirOwn) {
  Ends ends({.window_bytes = 1000, .gradient_window_bytes = 5000, .queue_bytes = 1000});
  for (int i = 1; i <= 4; ++i) {
    ends.ask(i, request_frame(500, TrafficClass::gradients), 500);
  }
  ends.run();
  EXPECT_EQ(ends.at_server->requests.size(), 4U);
}

TEST(Endpoint, RequestsOfDifferentClassesMayOvertakeEachOther) {
  Ends ends({}, {}, {.latency = 1us, .bytes_per_second = 1e9});
  ends.ask(1, request_frame(8 << 20, TrafficClass::rows), 100);
  ends.ask(2, request_frame(100, TrafficClass::control), 100);
  ends.run(100ms);
  ASSERT_EQ(ends.at_server->requests.size(), 2U)
      << "a lower id after a higher one is no repetition";
  EXPECT_EQ(ends.at_server->requests[0].head.request, 2U);
  EXPECT_EQ(ends.at_server->requests[1].head.request, 1U);
}

// ---- deadlines ----

TEST(Endpoint, AnswersAtTheDeadlineAndDropsTheLateReply) {
  Ends ends({.deadline = 1s});
  ends.ask(1, request_frame(500), 100);
  ends.run(999ms);
  EXPECT_EQ(ends.answer_of(1), "none");
  ends.run(1ms);
  ASSERT_NE(ends.answer_of(1), "none");
  EXPECT_EQ(ends.answers.at(1).error().code(), Errc::deadline_exceeded);
  EXPECT_NE(ends.answer_of(1).find("within 1000 ms"), std::string::npos) << ends.answer_of(1);

  ends.serve();
  EXPECT_EQ(ends.order.size(), 1U);
  EXPECT_EQ(ends.client->stats().expired, 1U);
  EXPECT_EQ(ends.client->stats().dropped, 1U);
}

TEST(Endpoint, DeadlinesCountFromSubmissionAlsoInTheQueue) {
  Ends ends({.window_bytes = 1000, .deadline = 1s});
  ends.ask(1, request_frame(500), 500);
  ends.run(400ms);
  ends.ask(2, request_frame(500), 500);
  ends.ask(3, request_frame(500), 500);
  ends.run(600ms);
  EXPECT_EQ(ends.order, (std::vector{1}));
  EXPECT_EQ(ends.at_server->requests.size(), 1U);
  ends.run(399ms);
  EXPECT_EQ(ends.at_server->requests.size(), 2U) << "the share of the window is free again";
  EXPECT_EQ(ends.order, (std::vector{1}));
  ends.run(1ms);
  EXPECT_EQ(ends.order, (std::vector{1, 2, 3}));
  EXPECT_EQ(ends.at_server->requests.size(), 2U) << "the third is not sent only to expire";
  EXPECT_NE(ends.answer_of(3).find("waiting for the window"), std::string::npos)
      << ends.answer_of(3);
  ends.ask(4, request_frame(500), 500);
  ends.run();
  ends.served = ends.at_server->requests.size() - 1;
  ends.serve();
  EXPECT_EQ(ends.answer_of(4), "ok") << ends.answer_of(4);
}

TEST(Endpoint, ARequestMayHaveItsOwnDeadline) {
  Ends ends({.deadline = 1s});
  ends.ask(1, request_frame(100), 100, Clock::duration::max());
  ends.ask(2, request_frame(100), 100);
  ends.ask(3, request_frame(100), 100, 10ms);
  ends.run(10ms);
  EXPECT_EQ(ends.order, (std::vector{3}));
  ends.run(1h);
  EXPECT_EQ(ends.order, (std::vector{3, 2}));
  ends.serve();
  EXPECT_EQ(ends.answer_of(1), "ok");
}

// ---- the link's end ----

TEST(Endpoint, LinkDownAnswersEverythingThenTellsTheHandler) {
  Ends ends({.window_bytes = 1000, .queue_bytes = 2000});
  for (int i = 1; i <= 4; ++i) {
    ends.ask(i, request_frame(500), 500);
  }
  ends.run();
  ends.server->close(Error(Errc::peer_lost, "host 3 is gone"));
  EXPECT_TRUE(ends.order.empty());
  ends.run();

  EXPECT_EQ(ends.order, (std::vector{1, 2, 3, 4}));
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(ends.answer_of(i), "peer_lost: host 3 is gone");
  }
  ASSERT_EQ(ends.at_client->downs.size(), 1U);
  ASSERT_EQ(ends.at_server->downs.size(), 1U);

  ends.ask(5, request_frame(500), 500);
  EXPECT_EQ(ends.answer_of(5), "peer_lost: host 3 is gone") << "at once";
  ends.server->reply(ends.at_server->requests.at(0).head, make_frame(TrafficClass::rows, 0, {1}));
  ends.run(2min);
  EXPECT_EQ(ends.order.size(), 5U);
}

TEST(Endpoint, AnAnswerMaySubmitAgain) {
  Ends ends;
  int left = 5;
  std::function<void(Result<Frame>)> again = [&](const Result<Frame>& answer) {
    EXPECT_TRUE(answer.ok());
    if (--left > 0) {
      ends.client->request(request_frame(100), 100, again);
    }
  };
  ends.client->request(request_frame(100), 100, again);
  for (int i = 0; i < 5; ++i) {
    ends.run();
    ends.serve();
  }
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace troupe::net
