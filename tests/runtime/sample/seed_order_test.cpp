#include "runtime/sample/seed_order.hpp"

#include "runtime/base/permutation.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>

namespace troupe {
namespace {

std::shared_ptr<const SeedList> seed_list(std::uint64_t n) {
  auto list = std::make_shared<SeedList>();
  for (std::uint64_t i = 0; i < n; ++i) {
    list->original.push_back(OriginalId{3 * i});
    list->global.push_back(NodeId{1000 - i});
  }
  return list;
}

std::vector<std::uint64_t> epoch_of(const SeedOrder& order, std::uint32_t epoch) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t b = 0; b < order.num_batches(); ++b) {
    const auto batch = order.positions(epoch, b);
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

TEST(SeedOrder, AnEpochHasEverySeedOnce) {
  for (const std::uint64_t n : {1U, 2U, 10U, 97U, 256U}) {
    const SeedOrder order(seed_list(n), 10, 7, true);
    auto all = epoch_of(order, 2);
    std::ranges::sort(all);
    ASSERT_EQ(all.size(), n);
    for (std::uint64_t i = 0; i < n; ++i) {
      EXPECT_EQ(all[i], i);
    }
  }
}

TEST(SeedOrder, TheLastBatchMayBeShort) {
  const SeedOrder order(seed_list(25), 10, 7, true);
  EXPECT_EQ(order.num_batches(), 3U);
  EXPECT_EQ(order.positions(0, 0).size(), 10U);
  EXPECT_EQ(order.positions(0, 2).size(), 5U);
}

TEST(SeedOrder, StepsAreThoseOfTheRankWithTheMostBatches) {
  const SeedOrder order(seed_list(25), 5, 7, true);
  EXPECT_EQ(order.num_batches(), 5U);
  EXPECT_EQ(order.num_steps(1), 5U);
  EXPECT_EQ(order.num_steps(2), 3U);
  EXPECT_EQ(order.num_steps(5), 1U);
  EXPECT_EQ(order.num_steps(9), 1U);
}

TEST(SeedOrder, LocalBatchesAreOfTheirRanksShare) {
  const SeedShares shares = {{0, 3, 4, 9, 10}, {1, 2, 7, 11}, {5, 6, 8, 12}};
  const SeedOrder order(seed_list(13), 2, 7, shares);
  ASSERT_EQ(order.num_batches(), 7U);  // 3 + 2 + 2
  EXPECT_EQ(order.num_steps(3), 3U);
  std::vector<std::vector<std::uint64_t>> of_rank(3);
  for (std::uint64_t b = 0; b < order.num_batches(); ++b) {
    const auto batch = order.positions(1, b);
    of_rank[b % 3].insert(of_rank[b % 3].end(), batch.begin(), batch.end());
  }
  EXPECT_EQ(order.positions(1, 6).size(), 1U);
  EXPECT_NE(epoch_of(order, 1), epoch_of(order, 2));
  EXPECT_NE(of_rank[0], shares[0]) << "shuffled";
  for (std::size_t r = 0; r < 3; ++r) {
    std::ranges::sort(of_rank[r]);
    EXPECT_EQ(of_rank[r], shares[r]) << r;
  }
}

TEST(SeedOrder, WithoutSeedsThereAreNoBatches) {
  const SeedOrder order(seed_list(0), 5, 7, true);
  EXPECT_EQ(order.num_seeds(), 0U);
  EXPECT_EQ(order.num_batches(), 0U);
  EXPECT_EQ(order.num_steps(3), 0U);
}

TEST(SeedOrder, IsTheKeyedPermutationOfTheDesign) {
  const SeedOrder order(seed_list(100), 30, 7, true);
  const Permutation expected(stream_key(7, {.domain = Domain::seed_order, .epoch = 4}), 100);

  const auto positions = order.positions(4, 3);

  ASSERT_EQ(positions.size(), 10U);
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(positions[i], expected(90 + i));
  }
}

TEST(SeedOrder, DiffersByEpochSeedAndNodeType) {
  auto other_type = std::make_shared<SeedList>(*seed_list(100));
  other_type->node_type = NodeTypeId{1};
  const SeedOrder order(seed_list(100), 10, 7, true);
  const auto epoch = epoch_of(order, 0);

  EXPECT_NE(epoch, epoch_of(order, 1));
  EXPECT_NE(epoch, epoch_of(SeedOrder(seed_list(100), 10, 8, true), 0));
  EXPECT_NE(epoch, epoch_of(SeedOrder(other_type, 10, 7, true), 0));
  EXPECT_EQ(epoch, epoch_of(SeedOrder(seed_list(100), 25, 7, true), 0))
      << "the batch size only cuts";
}

TEST(SeedOrder, WithoutShufflingKeepsTheListsOrder) {
  const SeedOrder order(seed_list(12), 5, 7, false);
  EXPECT_EQ(order.positions(3, 1), (std::vector<std::uint64_t>{5, 6, 7, 8, 9}));
  EXPECT_EQ(order.batch(3, 2), (std::vector<NodeId>{NodeId{990}, NodeId{989}}));
}

TEST(SeedOrderDeathTest, ABatchPastTheEndIsABug) {
  const SeedOrder order(seed_list(12), 5, 7, false);
  EXPECT_DEATH(static_cast<void>(order.positions(0, 3)), "past the end");
}

}  // namespace
}  // namespace troupe
