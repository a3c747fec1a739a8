#include "runtime/feature/hinted_batches.hpp"

#include "tests/support/expect.hpp"

#include <map>
#include <random>

namespace troupe {
namespace {

using Found = HintedBatches::Found;

HintedBatches::Hint hint(Turn turn) {
  SampleBatch batch;
  batch.key = {Purpose::train, 0, turn};
  batch.turn = turn;
  return std::make_shared<const SampleBatch>(std::move(batch));
}

HintedBatch sampled(Turn turn, std::size_t bytes = 8) {
  auto batch = std::make_shared<SampledBatch>();
  batch->key = {Purpose::train, 0, turn};
  batch->seed_index.resize(bytes / sizeof(std::uint32_t));
  return {std::move(batch), {}};
}

Turn begun(HintedBatches& ahead) {
  const auto next = ahead.begin();
  return next ? *next->turn : ~Turn{0};
}
constexpr Turn nothing = ~Turn{0};

TEST(HintedBatches, AreSampledInTheirOrderAndKeptUntilTheyAreRequested) {
  HintedBatches ahead({.most = 4});
  for (const Turn turn : {3U, 1U, 2U}) {
    ahead.add(hint(turn));
  }

  EXPECT_EQ(begun(ahead), 1U);
  EXPECT_EQ(begun(ahead), 2U);
  EXPECT_EQ(begun(ahead), 3U);
  EXPECT_EQ(begun(ahead), nothing);
  EXPECT_TRUE(ahead.keep(*hint(2), sampled(2)));

  EXPECT_EQ(ahead.take(*hint(1)).found, Found::under_way);
  const auto second = ahead.take(*hint(2));
  ASSERT_EQ(second.found, Found::whole);
  EXPECT_EQ(second.batch.sampled->key.number, 2U);
  EXPECT_EQ(ahead.take(*hint(2)).found, Found::nothing) << "each once";
  EXPECT_FALSE(ahead.keep(*hint(1), sampled(1))) << "its request has come";
  EXPECT_TRUE(ahead.keep(*hint(3), sampled(3)));
  EXPECT_EQ(ahead.kept_bytes(), 8U);
  EXPECT_EQ(ahead.take(*hint(3)).found, Found::whole);
  EXPECT_EQ(ahead.kept_bytes(), 0U);
}

TEST(HintedBatches, OneMoreThanThereIsRoomForIsDropped) {
  HintedBatches ahead({.most = 2});
  ahead.add(hint(1));
  ahead.add(hint(2));
  ahead.add(hint(2));
  ahead.add(hint(3));
  EXPECT_EQ(ahead.batches(), 2U);
  EXPECT_EQ(ahead.take(*hint(1)).found, Found::nothing) << "only hinted at";
  ahead.add(hint(3));
  EXPECT_EQ(begun(ahead), 2U);
  EXPECT_EQ(begun(ahead), 3U);
}

TEST(HintedBatches, StayWithinTheirBytesEachAsLargeAsTheLargest) {
  HintedBatches ahead({.most = 9, .most_bytes = 100});
  for (Turn turn = 1; turn < 6; ++turn) {
    ahead.add(hint(turn));
  }

  EXPECT_EQ(begun(ahead), 1U);
  EXPECT_EQ(begun(ahead), nothing) << "nobody knows how large they are";
  ahead.keep(*hint(1), sampled(1, 40));
  EXPECT_EQ(begun(ahead), 2U);
  EXPECT_EQ(begun(ahead), nothing) << "40 are kept, twice 40 do not fit beside them";
  ahead.keep(*hint(2), sampled(2, 60));
  EXPECT_EQ(begun(ahead), nothing);
  ahead.take(*hint(1));
  EXPECT_EQ(begun(ahead), nothing) << "60 are kept, and 60 is the largest";
  ahead.take(*hint(2));
  EXPECT_EQ(begun(ahead), 3U) << "one passes whatever its size";
}

TEST(HintedBatches, ThatFailAreForgotten) {
  HintedBatches ahead({.most = 4});
  ahead.add(hint(1));
  ahead.add(hint(2));
  EXPECT_EQ(begun(ahead), 1U);

  ahead.drop(*hint(1));

  EXPECT_EQ(ahead.take(*hint(1)).found, Found::nothing);
  EXPECT_EQ(begun(ahead), 2U);
}

TEST(HintedBatches, OfAnotherKeyOrOtherOptionsAreNotTheRequested) {
  HintedBatches ahead({.most = 4});
  ahead.add(hint(5));
  begun(ahead);
  ahead.keep(*hint(5), sampled(5));

  auto other = *hint(5);
  other.key.epoch = 1;
  EXPECT_EQ(ahead.take(other).found, Found::nothing);

  ahead.add(hint(6));
  begun(ahead);
  ahead.keep(*hint(6), sampled(6));
  auto own = *hint(6);
  own.sample = std::make_shared<const SampleOptions>();
  EXPECT_EQ(ahead.take(own).found, Found::nothing);

  auto unordered = *hint(7);
  unordered.turn.reset();
  ahead.add(std::make_shared<const SampleBatch>(unordered));
  EXPECT_EQ(ahead.batches(), 0U);
  EXPECT_EQ(ahead.take(unordered).found, Found::nothing);
}

TEST(HintedBatches, ARollBackGivesRoomToEarlierOnes) {
  HintedBatches ahead({.most = 3});
  for (const Turn turn : {100U, 101U, 102U}) {
    ahead.add(hint(turn));
  }
  EXPECT_EQ(begun(ahead), 100U);
  ahead.keep(*hint(100), sampled(100));
  EXPECT_EQ(begun(ahead), 101U);

  ahead.add(hint(10));

  EXPECT_EQ(ahead.batches(), 1U);
  EXPECT_EQ(ahead.kept_bytes(), 0U);
  EXPECT_FALSE(ahead.keep(*hint(101), sampled(101))) << "nobody will request it";
  EXPECT_EQ(begun(ahead), 10U);

  // A short way back leaves those that will be requested.
  ahead.keep(*hint(10), sampled(10));
  ahead.add(hint(9));
  EXPECT_EQ(ahead.take(*hint(9)).found, Found::nothing);
  EXPECT_EQ(ahead.take(*hint(10)).found, Found::whole);
}

/// Whatever comes in whatever order: what is taken is what was asked for, and the bounds hold.
TEST(HintedBatches, KeepTheirBoundsInAnyOrderOfEvents) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    HintedBatches ahead({.most = 1 + seed % 6, .most_bytes = seed % 2 * 64});
    std::vector<HintedBatches::Hint> under_way;
    Turn next = 50;
    for (int step = 0; step < 4000; ++step) {
      switch (random() % 5) {
        case 0:
          ahead.add(hint(next + random() % 8));
          break;
        case 1:
          if (auto begins = ahead.begin()) {
            under_way.push_back(std::move(begins));
          }
          break;
        case 2:
          if (!under_way.empty()) {
            const auto done = under_way[random() % under_way.size()];
            std::erase(under_way, done);
            random() % 4 == 0 ? ahead.drop(*done)
                              : (void)ahead.keep(*done, sampled(*done->turn, 4 + random() % 24));
          }
          break;
        case 3: {
          const auto taken = ahead.take(*hint(next));
          if (taken.found == Found::whole) {
            ASSERT_EQ(taken.batch.sampled->key.number, next);
          } else if (taken.found == Found::under_way) {
            ASSERT_EQ(*taken.hint->turn, next);
          }
          ++next;
          break;
        }
        default:
          next -= random() % 40 == 0 ? random() % next : 0;
      }
      ASSERT_LE(ahead.batches(), 1 + seed % 6);
      ASSERT_TRUE(ahead.batches() > 0 || ahead.kept_bytes() == 0);
    }
  }
}

}  // namespace
}  // namespace troupe
