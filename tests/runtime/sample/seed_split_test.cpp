#include "runtime/sample/seed_split.hpp"

#include "runtime/base/even_share.hpp"
#include "runtime/base/philox.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe {
namespace {

void expect_even_and_whole(const SeedShares& shares, std::uint64_t seeds) {
  std::vector<std::uint64_t> all;
  for (std::uint32_t r = 0; r < shares.size(); ++r) {
    const auto world = static_cast<std::uint32_t>(shares.size());
    EXPECT_EQ(shares[r].size(), even_share(seeds, world, static_cast<Rank>(r)).size) << r;
    EXPECT_TRUE(std::ranges::is_sorted(shares[r]));
    all.insert(all.end(), shares[r].begin(), shares[r].end());
  }
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), seeds);
  for (std::uint64_t i = 0; i < seeds; ++i) {
    EXPECT_EQ(all[i], i);
  }
}

std::vector<PartId> owners(std::uint64_t seeds, std::uint32_t parts, std::uint64_t key) {
  DrawStream draw(stream_key(key, {.domain = Domain::generators}), 0);
  std::vector<PartId> all;
  for (std::uint64_t i = 0; i < seeds; ++i) {
    const auto a = draw.below(parts);
    all.push_back(static_cast<PartId>(std::min(a, draw.below(parts))));  // low parts have more
  }
  return all;
}

TEST(EvenSplit, GivesEachRankAStretch) {
  EXPECT_EQ(even_split(7, 3), (SeedShares{{0, 1, 2}, {3, 4}, {5, 6}}));
  EXPECT_EQ(even_split(1, 3), (SeedShares{{0}, {}, {}}));
  EXPECT_EQ(even_split(0, 1), (SeedShares{{}}));
}

TEST(LocalSplit, IsEvenAndWholeHoweverSeedsLie) {
  for (const std::uint64_t seeds : {0U, 1U, 5U, 64U, 1000U}) {
    for (const std::uint32_t world : {1U, 2U, 3U, 7U}) {
      std::vector<std::vector<PartId>> near(world);
      for (std::uint32_t part = 0; part < 5; ++part) {
        near[part % world].push_back(static_cast<PartId>(part));
      }
      expect_even_and_whole(local_split(owners(seeds, 5, seeds + world), near), seeds);
    }
  }
}

TEST(LocalSplit, OfGroupsIsEvenInEachAndWhole) {
  const std::vector<std::vector<PartId>> near{{PartId{0}}, {PartId{1}}, {PartId{2}}};
  for (std::uint64_t seeds = 0; seeds < 12; ++seeds) {
    const std::vector<LinkGroup> groups{
        {EdgeTypeId{3}, 0, seeds}, {EdgeTypeId{0}, seeds, 0}, {EdgeTypeId{5}, seeds, 7}};
    const auto of = owners(seeds + 7, 3, seeds);
    const auto shares = local_split_of_groups(groups, of, near, {.size = 1});
    std::vector<std::uint64_t> all;
    for (const auto& share : shares) {
      EXPECT_TRUE(std::ranges::is_sorted(share));
      all.insert(all.end(), share.begin(), share.end());
      for (const auto& group : groups) {
        const auto mine = std::ranges::count_if(share, [&](std::uint64_t at) {
          return at >= group.first && at < group.first + group.count;
        });
        EXPECT_LE(std::abs(mine - static_cast<std::int64_t>(group.count / 3)), 1);
      }
    }
    std::ranges::sort(all);
    ASSERT_EQ(all.size(), seeds + 7);
    EXPECT_TRUE(std::ranges::adjacent_find(all, std::ranges::equal_to()) == all.end());
    // Batches of one: the one link more goes round, so ranks differ by one in all.
    EXPECT_LE(shares.front().size() - shares.back().size(), 1U);
  }
}

TEST(LocalSplit, SeedsStayNearWhereTheirRanksHaveRoom) {
  const std::vector<PartId> of = {PartId{0}, PartId{1}, PartId{0}, PartId{1}, PartId{1}, PartId{0}};
  const std::vector<std::vector<PartId>> near = {{PartId{1}}, {PartId{0}}};
  EXPECT_EQ(local_split(of, near), (SeedShares{{1, 3, 4}, {0, 2, 5}}));
}

TEST(LocalSplit, RanksOfOneHostTakeTurns) {
  const std::vector<PartId> of(5, PartId{0});
  const std::vector<std::vector<PartId>> near = {{PartId{0}}, {PartId{0}}};
  EXPECT_EQ(local_split(of, near), (SeedShares{{0, 2, 4}, {1, 3}}));
}

TEST(LocalSplit, WhatAFullRankCannotTakeGoesToThoseThatLackSome) {
  const std::vector<PartId> of(6, PartId{0});
  const std::vector<std::vector<PartId>> near = {{PartId{0}}, {PartId{1}}, {}};
  EXPECT_EQ(local_split(of, near), (SeedShares{{0, 1}, {2, 3}, {4, 5}}));
}

}  // namespace
}  // namespace troupe
