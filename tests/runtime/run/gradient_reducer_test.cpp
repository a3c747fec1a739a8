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
  GradientReducer reducer(2, 2);

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
    GradientReducer reducer(3, 1);
    std::optional<GradientReducer::Sum> sum;
    for (const auto rank : order) {
      ASSERT_OK_AND_ASSIGN(sum, reducer.add(share(0, rank, 1, {by_rank[rank]})));
    }
    ASSERT_TRUE(sum);
    EXPECT_EQ(values_of(*sum), std::vector<float>{0.0F});
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(GradientReducer, CountsARankWithoutABatchAsNothing) {
  GradientReducer reducer(2, 1);

  ASSERT_OK(reducer.add(share(0, 0, 0, {})));
  ASSERT_OK_AND_ASSIGN(auto sum, reducer.add(share(0, 1, 2, {5})));

  ASSERT_TRUE(sum);
  EXPECT_EQ(values_of(*sum), std::vector<float>{2.5F});
}

TEST(GradientReducer, GivesZeroWhereNobodyHasASeed) {
  GradientReducer reducer(2, 1);

  ASSERT_OK(reducer.add(share(0, 0, 0, {})));
  ASSERT_OK_AND_ASSIGN(auto sum, reducer.add(share(0, 1, 0, {})));

  ASSERT_TRUE(sum);
  EXPECT_EQ((*sum)->weight, 0U);
  EXPECT_EQ(values_of(*sum), std::vector<float>{0.0F});
}

TEST(GradientReducer, CountsARepeatedShareOnceAndRepeatsTheLastSum) {
  GradientReducer reducer(2, 1);

  ASSERT_OK(reducer.add(share(0, 0, 1, {4})));
  ASSERT_OK(reducer.add(share(0, 0, 1, {4})));
  ASSERT_OK_AND_ASSIGN(auto sum, reducer.add(share(0, 1, 1, {2})));
  ASSERT_OK_AND_ASSIGN(auto again, reducer.add(share(0, 1, 1, {2})));

  ASSERT_TRUE(sum && again);
  EXPECT_EQ(values_of(*sum), std::vector<float>{3.0F});
  EXPECT_EQ(*sum, *again);
}

TEST(GradientReducer, KeepsStepsApartWhenOneRankIsAhead) {
  GradientReducer reducer(2, 1);
  ASSERT_OK(reducer.add(share(0, 0, 1, {1})));
  ASSERT_OK(reducer.add(share(0, 1, 1, {1})));

  ASSERT_OK_AND_ASSIGN(auto ahead, reducer.add(share(1, 1, 1, {8})));
  EXPECT_FALSE(ahead);
  ASSERT_OK_AND_ASSIGN(auto sum, reducer.add(share(1, 0, 1, {2})));

  ASSERT_TRUE(sum);
  EXPECT_EQ(values_of(*sum), std::vector<float>{5.0F});
}

TEST(GradientReducer, RefusesWhatCannotBe) {
  GradientReducer reducer(2, 2);

  EXPECT_ERROR(reducer.add(share(0, 2, 1, {1, 2})), Errc::invalid_argument, "rank < 2");
  EXPECT_ERROR(reducer.add(share(0, 0, 1, {1})), Errc::invalid_argument, "8 bytes");
  EXPECT_ERROR(reducer.add(share(0, 0, 0, {1, 2})), Errc::invalid_argument, "0 bytes");
}

TEST(GradientReducer, FencesAnOlderGeneration) {
  GradientReducer reducer(2, 1);
  ASSERT_OK(reducer.add(share(0, 0, 1, {1}, 1)));

  EXPECT_ERROR(reducer.add(share(0, 1, 1, {1}, 0)), Errc::fenced, "generation 0 is over, now 1");
}

TEST(GradientReducer, RefusesAStepThatIsOver) {
  GradientReducer reducer(1, 1);
  for (std::uint64_t step = 0; step < 3; ++step) {
    ASSERT_OK(reducer.add(share(step, 0, 1, {1})));
  }

  EXPECT_ERROR(reducer.add(share(0, 0, 1, {1})), Errc::invalid_argument, "not the step");
}

}  // namespace
}  // namespace troupe
