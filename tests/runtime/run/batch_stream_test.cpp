#include "runtime/run/batch_stream.hpp"

#include "tests/support/expect.hpp"

#include <set>

namespace troupe {
namespace {

std::shared_ptr<const SeedOrder> order_of(std::uint64_t seeds, std::uint64_t batch_size) {
  auto list = std::make_shared<SeedList>();
  for (std::uint64_t i = 0; i < seeds; ++i) {
    list->original.push_back(static_cast<OriginalId>(i));
    list->global.push_back(static_cast<NodeId>(i));
  }
  return std::make_shared<const SeedOrder>(list, batch_size, 3, true);
}

BatchStreamOptions options_of(std::uint64_t seeds, std::uint32_t rank, std::uint32_t world) {
  BatchStreamOptions options;
  options.order = order_of(seeds, 2);
  options.rank = static_cast<Rank>(rank);
  options.world = world;
  options.ahead = std::make_shared<BatchesAhead>(BatchesAheadOptions{.first = 3, .most = 3});
  return options;
}

std::vector<std::uint64_t> ask_all(BatchStream<int>& stream) {
  std::vector<std::uint64_t> asked;
  while (const auto number = stream.ask()) {
    asked.push_back(*number);
  }
  return asked;
}

using Numbers = std::vector<std::uint64_t>;

TEST(BatchStream, RanksTogetherTakeEveryBatchOnceInAsManySteps) {
  for (const std::uint32_t world : {1U, 2U, 3U, 5U, 9U}) {
    for (const std::uint64_t seeds : {1U, 2U, 7U, 8U, 16U}) {
      std::set<std::uint64_t> batches;
      std::set<std::uint64_t> steps;
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        BatchStream<int> stream(options_of(seeds, rank, world));
        steps.insert(stream.steps());
        while (!stream.over()) {
          for (const auto number : ask_all(stream)) {
            stream.put(number, 1);
            EXPECT_TRUE(batches.insert(stream.global(number)).second);
          }
          EXPECT_EQ(stream.take().has_value(), stream.has_batch());
          stream.end_step();
        }
      }
      EXPECT_EQ(batches.size(), (seeds + 1) / 2) << world << " ranks, " << seeds << " seeds";
      EXPECT_EQ(steps.size(), 1U);
    }
  }
}

TEST(BatchStream, NoMoreThanTheLimitIsUnderWay) {
  BatchStream<int> stream(options_of(20, 0, 1));

  EXPECT_EQ(ask_all(stream), (Numbers{0, 1, 2}));
  stream.put(0, 10);
  EXPECT_EQ(ask_all(stream), Numbers{}) << "here, but not taken";
  ASSERT_EQ(stream.take(), 10);
  stream.end_step();
  EXPECT_EQ(ask_all(stream), Numbers{3});
}

TEST(BatchStream, WaitsRaiseHowManyAreUnderWay) {
  using std::chrono::seconds;
  auto options = options_of(40, 0, 1);
  options.ahead = std::make_shared<BatchesAhead>(
      BatchesAheadOptions{.first = 3, .most = 4, .extra_bytes = 100});
  BatchStream<int> stream(options);
  BatchesAhead::TimePoint now{};
  const auto step = [&](std::uint64_t bytes, seconds waited) {
    for (const auto number : ask_all(stream)) {
      stream.put(number, 1, bytes);
    }
    EXPECT_TRUE(stream.take().has_value());
    now += seconds(10);
    stream.waited(now, waited);
    stream.end_step();
  };

  step(100, seconds(10));  // the first, for which every rank waits
  for (int i = 0; i < 7; ++i) {
    step(100, seconds(5));
    EXPECT_EQ(stream.in_flight(), 3U);
  }
  step(100, seconds(5));
  EXPECT_EQ(stream.in_flight(), 4U);
  EXPECT_EQ(ask_all(stream).size(), 2U);

  options.ahead = std::make_shared<BatchesAhead>(
      BatchesAheadOptions{.first = 3, .most = 4, .extra_bytes = 100});
  stream = BatchStream<int>(options);
  for (int i = 0; i < 12; ++i) {
    step(101, seconds(5));
  }
  EXPECT_EQ(stream.in_flight(), 3U) << "a fourth does not fit";
}

TEST(BatchStream, ABudgetOfBytesBoundsWhatIsUnderWay) {
  auto options = options_of(20, 0, 1);
  options.budget_bytes = 250;
  BatchStream<int> stream(options);

  EXPECT_EQ(ask_all(stream), Numbers{0}) << "nobody knows yet how large they are";
  stream.put(0, 10, 100);
  EXPECT_EQ(ask_all(stream), Numbers{1}) << "100 are here, 100 expected, and 100 more are too much";
  ASSERT_EQ(stream.take(), 10);
  EXPECT_EQ(ask_all(stream), Numbers{2});
}

TEST(BatchStream, ABatchLargerThanTheBudgetPassesAlone) {
  auto options = options_of(20, 0, 1);
  options.budget_bytes = 50;
  BatchStream<int> stream(options);

  for (const std::uint64_t number : {0U, 1U, 2U}) {
    EXPECT_EQ(ask_all(stream), Numbers{number});
    stream.put(number, 1, 100);
    EXPECT_EQ(ask_all(stream), Numbers{});
    ASSERT_TRUE(stream.take());
    stream.end_step();
  }
}

TEST(BatchStream, BatchesOfAnotherCountWithItsOwn) {
  BatchStream<int> stream(options_of(20, 0, 1));

  EXPECT_FALSE(stream.ask({.batches = 3}));
  EXPECT_EQ(stream.ask({.batches = 2}), 0U);
  EXPECT_FALSE(stream.ask({.batches = 2}));
  EXPECT_EQ(stream.load().batches, 1U);
  EXPECT_EQ(stream.load().under_way, 1U);
  EXPECT_FALSE(stream.all_asked());
  stream.put(0, 10, 100);
  EXPECT_EQ(stream.load().under_way, 0U);
  EXPECT_EQ(stream.load().waiting_bytes, 100U);
  EXPECT_EQ(stream.load().largest_bytes, 100U);
  ASSERT_TRUE(stream.take());
  EXPECT_EQ(stream.load().batches, 1U) << "until it is trained on";
  stream.end_step();
  EXPECT_EQ(stream.load().batches, 0U);
}

TEST(BatchStream, BytesOfAnotherCountWithItsOwn) {
  auto options = options_of(20, 0, 1);
  options.budget_bytes = 250;
  BatchStream<int> stream(options);

  EXPECT_FALSE(stream.ask({.batches = 1, .under_way = 1})) << "nobody knows how large it is";
  EXPECT_FALSE(stream.ask({.batches = 1, .waiting_bytes = 151, .largest_bytes = 100}));
  EXPECT_EQ(stream.ask({.batches = 1, .waiting_bytes = 150, .largest_bytes = 100}), 0U);
  EXPECT_FALSE(stream.ask({.batches = 1, .waiting_bytes = 100, .largest_bytes = 100}));
}

TEST(BatchStream, CoversBatchesOfItsPassAlone) {
  auto options = options_of(20, 0, 1);
  options.epoch = 4;
  const BatchStream<int> stream(options);

  EXPECT_TRUE(stream.covers({Purpose::train, 4, 99}));
  EXPECT_FALSE(stream.covers({Purpose::train, 5, 0}));
  EXPECT_FALSE(stream.covers({Purpose::evaluate, 4, 0}));
}

TEST(BatchStream, BatchesAreTakenInOrderHoweverTheyArrive) {
  BatchStream<int> stream(options_of(20, 0, 1));
  ask_all(stream);

  stream.put(2, 12);
  stream.put(1, 11);
  EXPECT_EQ(stream.take(), std::nullopt);
  stream.put(0, 10);

  for (const int expected : {10, 11, 12}) {
    EXPECT_EQ(stream.take(), expected);
    stream.end_step();
  }
}

TEST(BatchStream, IgnoresARepeat) {
  BatchStream<int> stream(options_of(20, 0, 1));
  ask_all(stream);
  stream.put(1, 11);

  stream.put(0, 10);
  stream.put(0, 99);
  stream.put(1, 99);

  EXPECT_EQ(stream.take(), 10);
  stream.end_step();
  EXPECT_EQ(stream.take(), 11);
}

TEST(BatchStream, GoesOnInTheMiddleWithTheSameBatches) {
  auto options = options_of(20, 1, 2);
  BatchStream<int> whole(options);
  options.first_step = 3;
  BatchStream<int> rest(options);

  EXPECT_EQ(rest.step(), 3U);
  EXPECT_EQ(rest.steps(), whole.steps());
  EXPECT_EQ(ask_all(rest), (Numbers{3, 4}));
  EXPECT_EQ(rest.seeds(3), whole.seeds(3));
  EXPECT_EQ(rest.key(3).number, 7U);
}

TEST(BatchStream, ALimitOnBatchesIsOfAllRanks) {
  auto options = options_of(40, 1, 2);
  options.max_batches = 3;
  BatchStream<int> stream(options);

  EXPECT_EQ(stream.steps(), 2U);
  EXPECT_EQ(ask_all(stream), Numbers{0}) << "the other two are rank 0's";
}

Numbers hint_all(BatchStream<int>& stream, std::uint64_t others = 0) {
  Numbers hinted;
  while (const auto number = stream.hint(others)) {
    hinted.push_back(*number);
  }
  return hinted;
}

TEST(BatchStream, HintsAtTheBatchesAfterThoseThatAreAskedFor) {
  auto options = options_of(20, 0, 1);
  options.lookahead = 4;
  BatchStream<int> stream(options);
  EXPECT_EQ(ask_all(stream), (Numbers{0, 1, 2}));
  EXPECT_EQ(hint_all(stream), (Numbers{3, 4, 5, 6}));
  EXPECT_EQ(stream.hinted_ahead(), 4U);

  stream.end_step();
  EXPECT_EQ(hint_all(stream), Numbers{}) << "each once";
  EXPECT_EQ(ask_all(stream), Numbers{3});
  EXPECT_EQ(hint_all(stream, 1), Numbers{}) << "with one of an earlier stream";
  EXPECT_EQ(hint_all(stream), Numbers{7});
  EXPECT_FALSE(stream.all_hinted());
  for (int step = 0; step < 5; ++step) {
    stream.end_step();
  }
  EXPECT_EQ(ask_all(stream).back(), 8U) << "some were asked for without a hint";
  EXPECT_EQ(hint_all(stream), Numbers{9});
  EXPECT_TRUE(stream.all_hinted());
}

TEST(BatchStream, WithoutALookAheadGivesNoHints) {
  BatchStream<int> stream(options_of(20, 0, 1));
  EXPECT_EQ(hint_all(stream), Numbers{});
  ask_all(stream);
  EXPECT_EQ(hint_all(stream), Numbers{});
}

TEST(BatchStream, TurnsCountTheBatchesOfAllEpochsAlsoOfAResumedOne) {
  for (const std::uint32_t world : {1U, 2U, 3U}) {
    std::vector<std::uint64_t> turns;
    for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
      auto options = options_of(14, world - 1, world);
      options.epoch = epoch;
      const BatchStream<int> stream(options);
      options.first_step = 1;
      const BatchStream<int> resumed(options);
      for (std::uint64_t number = 0; number < stream.steps(); ++number) {
        turns.push_back(stream.turn(number));
        EXPECT_EQ(resumed.turn(number), turns.back());
      }
    }
    for (std::uint64_t i = 0; i < turns.size(); ++i) {
      EXPECT_EQ(turns[i], i) << world;
    }
  }
}

TEST(BatchStream, APositionPastTheEndIsOver) {
  auto options = options_of(4, 0, 1);
  options.first_step = 2;
  BatchStream<int> stream(options);

  EXPECT_TRUE(stream.over());
  EXPECT_EQ(ask_all(stream), Numbers{});
}

}  // namespace
}  // namespace troupe
