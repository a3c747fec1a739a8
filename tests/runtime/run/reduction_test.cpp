#include "runtime/run/reduction.hpp"

#include "runtime/run/gradient_reducer.hpp"
#include "tests/support/expect.hpp"

#include <memory>

namespace troupe {
namespace {

Contribution contribution(std::vector<float> values, std::uint64_t weight) {
  return {Segment::of(std::move(values)), weight, static_cast<double>(weight) / 2,
          Digest{weight, 0}};
}

/// All ranks play one reduction against the reducers of all.
std::vector<Reduced> reduce(const std::vector<Contribution>& mine, std::size_t size) {
  const auto world = static_cast<std::uint32_t>(mine.size());
  std::vector<Reduction> ranks;
  for (std::uint32_t r = 0; r < world; ++r) {
    ranks.emplace_back(static_cast<Rank>(r), world, size);
  }
  for (std::uint32_t owner = 0; owner < world; ++owner) {
    const auto at = static_cast<Rank>(owner);
    GradientReducer reducer(world);
    EXPECT_OK(reducer.begin(7, gradient_slice(size, world, at).size));
    std::optional<GradientReducer::Sum> sum;
    for (std::uint32_t r = 0; r < world; ++r) {
      const auto added = reducer.add(
          std::make_shared<const net::GradientChunk>(ranks[r].share(at, mine[r], 0, 7)));
      EXPECT_OK(added);
      sum = *added;
    }
    for (auto& rank : ranks) {
      EXPECT_FALSE(rank.done());
      EXPECT_OK(rank.take(at, **sum));
      EXPECT_OK(rank.take(at, **sum));  // a repeat
    }
  }
  std::vector<Reduced> results;
  for (auto& rank : ranks) {
    EXPECT_TRUE(rank.done());
    results.push_back(rank.result());
  }
  return results;
}

TEST(Reduction, GivesEveryRankTheMeanOfTheWholeVector) {
  const auto results =
      reduce({contribution({1, 2, 3, 4, 5}, 1), contribution({3, 6, 9, 12, 15}, 3)}, 5);

  for (const auto& result : results) {
    EXPECT_EQ(result.values, (std::vector<float>{1, 2, 3, 4, 5}));
    EXPECT_EQ(result.weight, 4U);
    EXPECT_EQ(result.number, 2);
    EXPECT_EQ(result.batches, (std::vector<Digest>{{1, 0}, {3, 0}}));
  }
}

TEST(Reduction, TakesVectorsShorterThanTheWorld) {
  for (const std::size_t size : {0U, 1U, 2U}) {
    const auto one = contribution(std::vector<float>(size, 2), 1);
    for (const auto& result : reduce({one, one, one}, size)) {
      EXPECT_EQ(result.values, std::vector<float>(size, 2));
      EXPECT_EQ(result.weight, 3U);
    }
  }
}

TEST(Reduction, BringsNothingWithWeightZero) {
  const Reduction rank(Rank{1}, 2, 4);

  const auto share = rank.share(Rank{0}, {}, 3, 9);

  EXPECT_EQ(share.values.bytes.size(), 0U);
  EXPECT_GT(share.sum_bytes, 0U);  // it gets a sum too
  EXPECT_EQ(share.generation, 3U);
  EXPECT_EQ(share.step, 9U);
}

TEST(Reduction, TellsRankZeroOfItsDeviceAndTakesItsWord) {
  Reduction rank(Rank{1}, 2, 4);
  Contribution mine;
  mine.offer = {"a network", "a device", true};
  EXPECT_EQ(rank.share(Rank{0}, mine, 0, 0).offer, mine.offer);
  EXPECT_EQ(rank.share(Rank{1}, mine, 0, 0).offer, net::DeviceOffer());

  net::GradientSum sum;
  sum.values = Segment::of(std::vector<float>(2));
  sum.communicator = {4, 5};
  sum.by_devices = true;
  EXPECT_OK(rank.take(Rank{1}, sum));
  EXPECT_TRUE(rank.result().communicator.empty());
  EXPECT_FALSE(rank.result().by_devices);
  EXPECT_OK(rank.take(Rank{0}, sum));
  EXPECT_EQ(rank.result().communicator, sum.communicator);
  EXPECT_TRUE(rank.result().by_devices);
}

TEST(Reduction, RefusesASumOfAnotherLength) {
  Reduction rank(Rank{1}, 2, 4);
  net::GradientSum sum;
  sum.values = Segment::of(std::vector<float>{1, 2, 3});

  EXPECT_ERROR(rank.take(Rank{0}, sum), Errc::data_corruption,
               "sum of rank 0: expected 2 numbers, found 3");
  EXPECT_EQ(rank.answered(), std::vector<bool>(2));
}

}  // namespace
}  // namespace troupe
