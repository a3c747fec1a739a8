// A trainer that asks for the first batches of the next epoch while the pass before it ends.
#include "actors/local_messages.hpp"
#include "actors/trainer.hpp"
#include "runtime/run/epoch_counters.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/actors/batch_of_seeds.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using testing::Asked;

/// A trainer without a learner, of 4 batches in an epoch, with 3 in flight.
class TrainerAhead : public ::testing::Test {
 protected:
  explicit TrainerAhead(std::uint32_t lookahead = 0) {
    auto seeds = std::make_shared<SeedList>();
    for (std::uint64_t i = 0; i < 4; ++i) {
      seeds->original.push_back(OriginalId{i});
      seeds->global.push_back(NodeId{i});
    }
    TrainerOptions options;
    options.ahead = {.first = 3, .most = 3};
    options.lookahead = lookahead;
    options.collect = std::make_shared<const CollectOptions>();
    options.orders["train"] = std::make_shared<const SeedOrder>(seeds, 1, 1, true);
    options.orders["val"] = std::make_shared<const SeedOrder>(seeds, 1, 1, false);
    trainer_ =
        system_.add("trainer", spawn_trainer(*system_, std::move(options),
                                             [this] {
                                               return DataPath{.samplers = {sampler_.handle()},
                                                               .collector = collector_.handle()};
                                             },
                                             {}));
  }

  std::uint64_t begin_epoch(std::uint32_t epoch, bool next_follows, std::uint32_t generation = 0) {
    const auto asked =
        director_.request(trainer_, net::EpochRequest{generation, epoch, next_follows});
    system_.run();
    return asked;
  }
  /// Takes the oldest request for a batch, which is to be that one.
  Asked<SampleBatch> take(Purpose purpose, std::uint32_t epoch, std::uint64_t number) {
    auto asked = sampler_.take<SampleBatch>();
    EXPECT_EQ(asked->key, (BatchKey{purpose, epoch, number}));
    return asked;
  }
  void answer(const Asked<SampleBatch>& asked) {
    auto ready = testing::batch_of_seeds(*asked.what);
    ready.trace.rows = asked->key.epoch + 1;
    sampler_.answer(asked, std::move(ready));
    system_.run();
  }
  void serve(Purpose purpose, std::uint32_t epoch, std::uint64_t number) {
    answer(take(purpose, epoch, number));
  }
  void serve_epoch(std::uint32_t epoch, std::uint64_t first = 0) {
    for (auto number = first; number < 4; ++number) {
      serve(Purpose::train, epoch, number);
    }
  }

  testing::ScriptedSystem system_;
  testing::ScriptedActor director_{system_, "director"};
  testing::ScriptedActor sampler_{system_, "sampler"};
  testing::ScriptedActor collector_{system_, "collector"};
  caf::actor trainer_;
};

TEST_F(TrainerAhead, AsksForTheNextEpochBeforeTheOneUnderWayIsOver) {
  const auto first = begin_epoch(0, true);
  EXPECT_EQ(sampler_.waiting(), 3U);
  serve(Purpose::train, 0, 0);
  serve(Purpose::train, 0, 1);  // 2 and 3 are under way, and one of the next epoch

  EXPECT_EQ(sampler_.waiting(), 3U) << "no more are in flight than in an epoch's midst";
  serve(Purpose::train, 0, 2);
  EXPECT_FALSE(director_.is_answered(first));
  const auto last = take(Purpose::train, 0, 3);
  answer(take(Purpose::train, 1, 0));
  answer(last);

  ASSERT_OK_AND_ASSIGN(const auto result, director_.answer_to<net::EpochResult>(first));
  EXPECT_EQ(result->counters.batches, 4U);
  EXPECT_EQ(result->counters.rows, 4U) << "none of the next epoch's";
  const auto second = begin_epoch(1, false);
  serve_epoch(1, 1);
  ASSERT_OK_AND_ASSIGN(const auto after, director_.answer_to<net::EpochResult>(second));
  EXPECT_EQ(after->counters.batches, 4U);
  EXPECT_EQ(after->counters.rows, 8U) << "2 of each batch, also of the one that came early";
  EXPECT_EQ(sampler_.waiting(), 0U) << "the last epoch asks for no other";
}

TEST_F(TrainerAhead, BatchesThatComeBetweenTwoPassesAreKept) {
  begin_epoch(0, true);
  serve_epoch(0);
  EXPECT_EQ(sampler_.waiting(), 3U);

  serve(Purpose::train, 1, 0);  // no pass is under way
  serve(Purpose::train, 1, 1);
  const auto second = begin_epoch(1, false);

  serve(Purpose::train, 1, 2);
  serve(Purpose::train, 1, 3);
  EXPECT_TRUE(director_.is_answered(second));
}

/// Three in flight, and two that are hinted at beyond them.
class TrainerHints : public TrainerAhead {
 protected:
  TrainerHints() : TrainerAhead(2) {}
  void expect_hint(std::uint32_t epoch, std::uint64_t number) {
    const auto hint = sampler_.take<SampleAhead>();
    EXPECT_EQ(hint->request->key, (BatchKey{Purpose::train, epoch, number}));
    EXPECT_EQ(hint->request->turn, epoch * 4 + number);
    EXPECT_EQ(hint->request->seeds.size(), 1U);
  }
};

TEST_F(TrainerHints, ComeAfterTheRequestsAndReachIntoTheNextEpoch) {
  const auto first = begin_epoch(0, true);
  std::vector<Asked<SampleBatch>> asked;
  for (const std::uint64_t number : {0U, 1U, 2U}) {
    asked.push_back(take(Purpose::train, 0, number));
    EXPECT_EQ(asked.back()->turn, number);
  }
  expect_hint(0, 3);
  expect_hint(1, 0);
  EXPECT_EQ(sampler_.waiting(), 0U);

  answer(asked[0]);
  asked.push_back(take(Purpose::train, 0, 3));
  expect_hint(1, 1);
  answer(asked[1]);
  asked.push_back(take(Purpose::train, 1, 0));
  expect_hint(1, 2);
  answer(asked[2]);
  answer(asked[3]);
  EXPECT_TRUE(director_.is_answered(first));
}

TEST_F(TrainerHints, BeginAgainAfterARollBack) {
  begin_epoch(0, true);
  while (sampler_.waiting() > 2) {
    sampler_.take<SampleBatch>();
  }
  expect_hint(0, 3);
  expect_hint(1, 0);
  net::Restore back;
  back.generation = 1;
  back.state = std::make_shared<const net::TrainingState>();
  director_.request(trainer_, std::move(back));
  system_.run();

  begin_epoch(0, true, 1);

  for (const std::uint64_t number : {0U, 1U, 2U}) {
    take(Purpose::train, 0, number);
  }
  expect_hint(0, 3);
  expect_hint(1, 0);
}

TEST_F(TrainerAhead, WithoutANextEpochNothingIsAskedAhead) {
  const auto only = begin_epoch(0, false);

  serve_epoch(0);

  EXPECT_TRUE(director_.is_answered(only));
  EXPECT_EQ(sampler_.waiting(), 0U);
}

TEST_F(TrainerAhead, ABatchThatFailsAheadIsAskedForAgainByItsEpoch) {
  begin_epoch(0, true);
  serve(Purpose::train, 0, 0);
  serve(Purpose::train, 0, 1);
  serve(Purpose::train, 0, 2);
  const auto last = take(Purpose::train, 0, 3);
  sampler_.fail(take(Purpose::train, 1, 0), Error(Errc::deadline_exceeded, "no holder answers"));
  const auto other = take(Purpose::train, 1, 1);
  system_.run();
  answer(last);

  const auto second = begin_epoch(1, false);
  EXPECT_EQ(sampler_.waiting(), 3U);
  sampler_.fail(other, Error(Errc::deadline_exceeded, "no holder answers"));
  system_.run();
  EXPECT_FALSE(director_.is_answered(second)) << "an error of what was forgotten is none";
  serve_epoch(1);
  EXPECT_OK(director_.answer_to<net::EpochResult>(second));
}

TEST_F(TrainerAhead, ABatchAskedAheadThatFailsInItsEpochFailsIt) {
  begin_epoch(0, true);
  serve_epoch(0);
  const auto second = begin_epoch(1, false);

  sampler_.fail(take(Purpose::train, 1, 0), Error(Errc::deadline_exceeded, "no holder answers"));
  system_.run();

  EXPECT_ERROR(director_.answer_to<net::EpochResult>(second), Errc::deadline_exceeded, "rank 0");
}

TEST_F(TrainerAhead, ARollBackForgetsTheNextEpoch) {
  begin_epoch(0, true);
  serve_epoch(0);
  const auto early = take(Purpose::train, 1, 0);
  const auto late = take(Purpose::train, 1, 1);
  answer(early);
  net::Restore back;
  back.generation = 1;
  back.state = std::make_shared<const net::TrainingState>();
  director_.request(trainer_, std::move(back));
  system_.run();
  while (sampler_.waiting() > 0) {
    sampler_.take<SampleBatch>();
  }

  const auto again = begin_epoch(0, true, 1);
  answer(late);  // to a request of the generation before
  serve_epoch(0);
  EXPECT_TRUE(director_.is_answered(again));
  const auto second = begin_epoch(1, false, 1);
  serve_epoch(1);
  EXPECT_TRUE(director_.is_answered(second));
}

TEST_F(TrainerAhead, AnEvaluationAsksForTheEpochAfterItOnceItsOwnBatchesAreUnderWay) {
  begin_epoch(0, false);
  serve_epoch(0);
  EXPECT_EQ(sampler_.waiting(), 0U);
  net::ScoreRequest request;
  request.role = "val";
  request.next_follows = true;

  const auto scores = director_.request(trainer_, std::move(request));
  system_.run();
  for (std::uint64_t number = 0; number < 3; ++number) {
    serve(Purpose::evaluate, 0, number);
  }
  EXPECT_FALSE(director_.is_answered(scores));
  const auto last = take(Purpose::evaluate, 0, 3);
  serve(Purpose::train, 1, 0);
  answer(last);
  EXPECT_TRUE(director_.is_answered(scores));

  const auto second = begin_epoch(1, false);
  serve_epoch(1, 1);
  EXPECT_TRUE(director_.is_answered(second));
}

}  // namespace
}  // namespace troupe
