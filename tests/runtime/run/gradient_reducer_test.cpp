#include "runtime/run/gradient_reducer.hpp"

#include "tests/support/expect.hpp"

#include <array>

namespace troupe {
namespace {

std::shared_ptr<const net::GradientChunk> share(std::uint64_t step, std::uint32_t rank,
                                                std::uint64_t weight, std::vector<float> values,
                                                std::uint32_t generation = 0) {
  net::GradientChunk chunk;
  chunk.generation = generation;
  chunk.step = step;
  chunk.rank = static_cast<Rank>(rank);
  chunk.weight = weight;
  chunk.values = Segment::of(std::move(values));
  return std::make_shared<const net::GradientChunk>(std::move(chunk));
}

std::vector<float> values_of(const GradientReducer::Sum& sum) {
  const auto values = sum->values.as<float>();
  return {values.begin(), values.end()};
}

/// In step 0.
GradientReducer begun(std::uint32_t world, std::size_t slice) {
  GradientReducer reducer(world);
  EXPECT_OK(reducer.begin(0, slice));
  return reducer;
}

TEST(GradientSlice, CoversAllParametersOnceForAnyWorld) {
  for (const std::size_t size : {0U, 1U, 5U, 16U, 17U}) {
    for (const std::uint32_t world : {1U, 2U, 3U, 7U}) {
      std::size_t next = 0;
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        const auto slice = gradient_slice(size, world, static_cast<Rank>(rank));
        EXPECT_EQ(slice.first, next);
        EXPECT_LE(slice.size, size / world + 1);
        next += slice.size;
      }
      EXPECT_EQ(next, size);
    }
  }
}

TEST(GradientReducer, AnswersWhenTheLastShareIsIn) {
  auto reducer = begun(2, 2);

  ASSERT_OK_AND_ASSIGN(auto first, reducer.add(share(0, 1, 3, {3, 6})));
  EXPECT_FALSE(first);
  ASSERT_OK_AND_ASSIGN(auto sum, reducer.add(share(0, 0, 1, {1, 2})));

  ASSERT_TRUE(sum);
  EXPECT_EQ((*sum)->weight, 4U);
  EXPECT_EQ(values_of(*sum), (std::vector<float>{1, 2}));
}

TEST(GradientReducer, AddsInRankOrderWhateverTheOrderOfArrival) {
  // In float32 (1e8 + 1) - 1e8 = 0 but (1e8 - 1e8) + 1 = 1: the order shows.
  const std::array<float, 3> by_rank = {1e8F, 1.0F, -1e8F};
  std::array<std::uint32_t, 3> order = {0, 1, 2};
  do {
    auto reducer = begun(3, 1);
    std::optional<GradientReducer::Sum> sum;
    for (const auto rank : order) {
      ASSERT_OK_AND_ASSIGN(sum, reducer.add(share(0, rank, 1, {by_rank[rank]})));
    }
    ASSERT_TRUE(sum);
    EXPECT_EQ(values_of(*sum), std::vector<float>{0.0F});
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(GradientReducer, CountsARankWithoutABatchAsNothing) {
  auto reducer = begun(2, 1);

  ASSERT_OK(reducer.add(share(0, 0, 0, {})));
  ASSERT_OK_AND_ASSIGN(auto sum, reducer.add(share(0, 1, 2, {5})));

  ASSERT_TRUE(sum);
  EXPECT_EQ(values_of(*sum), std::vector<float>{2.5F});
}

TEST(GradientReducer, GivesZeroWhereNobodyHasASeed) {
  auto reducer = begun(2, 1);

  ASSERT_OK(reducer.add(share(0, 0, 0, {})));
  ASSERT_OK_AND_ASSIGN(auto sum, reducer.add(share(0, 1, 0, {})));

  ASSERT_TRUE(sum);
  EXPECT_EQ((*sum)->weight, 0U);
  EXPECT_EQ(values_of(*sum), std::vector<float>{0.0F});
}

TEST(GradientReducer, CountsARepeatedShareOnceAndRepeatsTheLastSum) {
  auto reducer = begun(2, 1);

  ASSERT_OK(reducer.add(share(0, 0, 1, {4})));
  ASSERT_OK(reducer.add(share(0, 0, 1, {4})));
  ASSERT_OK_AND_ASSIGN(auto sum, reducer.add(share(0, 1, 1, {2})));
  ASSERT_OK_AND_ASSIGN(auto again, reducer.add(share(0, 1, 1, {2})));

  ASSERT_TRUE(sum && again);
  EXPECT_EQ(values_of(*sum), std::vector<float>{3.0F});
  EXPECT_EQ(*sum, *again);
}

TEST(GradientReducer, KeepsStepsApartWhenOneRankIsAhead) {
  auto reducer = begun(2, 1);
  ASSERT_OK(reducer.add(share(0, 0, 1, {1})));
  ASSERT_OK(reducer.add(share(0, 1, 1, {1})));

  ASSERT_OK_AND_ASSIGN(auto ahead, reducer.add(share(1, 1, 1, {8})));
  EXPECT_FALSE(ahead);
  EXPECT_EQ(reducer.early().size(), 1U);
  ASSERT_OK_AND_ASSIGN(auto begun, reducer.begin(1, 1));
  EXPECT_FALSE(begun);
  ASSERT_OK_AND_ASSIGN(auto sum, reducer.add(share(1, 0, 1, {2})));

  ASSERT_TRUE(sum);
  EXPECT_EQ(values_of(*sum), std::vector<float>{5.0F});
}

TEST(GradientReducer, RefusesWhatCannotBe) {
  auto reducer = begun(2, 2);

  EXPECT_ERROR(reducer.add(share(0, 2, 1, {1, 2})), Errc::invalid_argument, "no such rank");
  EXPECT_ERROR(reducer.add(share(0, 0, 1, {1})), Errc::invalid_argument, "8 bytes");
  EXPECT_ERROR(reducer.add(share(0, 0, 0, {1, 2})), Errc::invalid_argument, "0 bytes");
}

TEST(GradientReducer, FencesAnOlderGeneration) {
  auto reducer = begun(2, 1);
  ASSERT_OK(reducer.add(share(0, 0, 1, {1}, 1)));

  EXPECT_ERROR(reducer.add(share(0, 1, 1, {1}, 0)), Errc::fenced, "generation 0 is over, now 1");
}

TEST(GradientReducer, RefusesAStepThatIsOverAndOneThatCannotBeUnderWay) {
  GradientReducer reducer(2);
  for (std::uint64_t step = 0; step < 3; ++step) {
    ASSERT_OK(reducer.begin(step, 1));
    ASSERT_OK(reducer.add(share(step, 0, 1, {1})));
    ASSERT_OK(reducer.add(share(step, 1, 1, {1})));
  }
  EXPECT_ERROR(reducer.add(share(0, 0, 1, {1})), Errc::invalid_argument, "not the step");

  ASSERT_OK(reducer.begin(3, 1));
  EXPECT_ERROR(reducer.add(share(4, 1, 1, {1})), Errc::invalid_argument, "not the step");
}

TEST(GradientReducer, RepeatsTheSumOfTheStepBeforeWhileANewOneIsUnderWay) {
  auto reducer = begun(2, 1);
  ASSERT_OK(reducer.add(share(0, 0, 1, {4})));
  ASSERT_OK(reducer.add(share(0, 1, 1, {2})));
  ASSERT_OK(reducer.begin(1, 1));

  ASSERT_OK_AND_ASSIGN(auto again, reducer.add(share(0, 1, 1, {2})));

  ASSERT_TRUE(again);
  EXPECT_EQ(values_of(*again), std::vector<float>{3.0F});
  EXPECT_TRUE(reducer.knows(0));
  EXPECT_FALSE(reducer.knows(1));
}

TEST(GradientReducer, AnEarlyShareOfAnotherLengthIsRefusedWhenTheStepBegins) {
  GradientReducer reducer(2);
  ASSERT_OK(reducer.add(share(0, 1, 1, {1, 2, 3})));

  EXPECT_ERROR(reducer.begin(0, 2), Errc::invalid_argument,
               "share of rank 1: a vector of another length: expected 8 bytes, found 12");
}

TEST(GradientReducer, KeepsOneEarlyShareOfEachRank) {
  GradientReducer reducer(3);
  for (int twice = 0; twice < 2; ++twice) {
    ASSERT_OK(reducer.add(share(0, 1, 1, {1})));
    ASSERT_OK(reducer.add(share(0, 2, 1, {1})));
  }
  EXPECT_EQ(reducer.early().size(), 2U);

  ASSERT_OK_AND_ASSIGN(const auto begun, reducer.begin(0, 1));

  EXPECT_FALSE(begun);
  EXPECT_EQ(reducer.arrived(), (std::vector<bool>{false, true, true}));
  EXPECT_TRUE(reducer.early().empty());
}

TEST(GradientReducer, ASumIsCompletedWithWhatIsDecidedOfAllShares) {
  auto reducer = begun(2, 1);
  std::vector<std::uint64_t> weights;
  reducer.decide_with([&](std::span<const GradientReducer::Share> shares, net::GradientSum& sum) {
    for (const auto& of : shares) {
      weights.push_back(of->weight);
    }
    sum.communicator = {weights.size()};
  });
  EXPECT_OK(reducer.add(share(0, 1, 5, {1})));
  EXPECT_EQ(weights.size(), 0U);
  ASSERT_OK_AND_ASSIGN(const auto sum, reducer.add(share(0, 0, 3, {1})));
  ASSERT_TRUE(sum);
  EXPECT_EQ(weights, (std::vector<std::uint64_t>{3, 5}));
  EXPECT_EQ((*sum)->communicator, std::vector<std::uint64_t>{2});

  // In the generation that a share of it begins, too.
  EXPECT_OK(reducer.add(share(1, 1, 0, {}, 1)));
  EXPECT_OK(reducer.begin(1, 1));
  EXPECT_OK(reducer.add(share(1, 0, 0, {}, 1)));
  EXPECT_EQ(weights.size(), 4U);
}

}  // namespace
}  // namespace troupe
