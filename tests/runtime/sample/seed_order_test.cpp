#include "runtime/sample/seed_order.hpp"

#include "runtime/base/permutation.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <functional>
#include <set>

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

TEST(SeedOrder, AShortBatchMayBeDropped) {
  const SeedOrder kept(seed_list(25), 10, 7, true);
  const SeedOrder dropped(seed_list(25), 10, 7, true, {}, ShortBatch::dropped);
  EXPECT_EQ(dropped.num_batches(), 2U);
  EXPECT_EQ(dropped.num_steps(2), 1U);
  for (std::uint64_t b = 0; b < 2; ++b) {
    EXPECT_EQ(dropped.positions(3, b), kept.positions(3, b));
  }
  EXPECT_EQ(SeedOrder(seed_list(9), 10, 7, true, {}, ShortBatch::dropped).num_batches(), 0U);
  EXPECT_EQ(SeedOrder(seed_list(20), 10, 7, true, {}, ShortBatch::dropped).num_batches(), 2U);
  const SeedShares shares = {{0, 3, 4, 9, 10}, {1, 2, 7, 11}, {5, 6, 8, 12}};
  const SeedOrder local(seed_list(13), 2, 7, true, shares, ShortBatch::dropped);
  EXPECT_EQ(local.num_batches(), 6U);  // 2 of each share
}

TEST(SeedOrder, WithoutShufflingSeedsComeInTheirOrder) {
  const SeedOrder order(seed_list(25), 10, 7, false);
  EXPECT_EQ(order.positions(0, 1),
            (std::vector<std::uint64_t>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
  EXPECT_EQ(order.positions(0, 1), order.positions(5, 1));
  const SeedShares shares = {{0, 3, 4}, {1, 2}};
  const SeedOrder local(seed_list(5), 2, 7, false, shares);
  EXPECT_EQ(local.positions(2, 0), (std::vector<std::uint64_t>{0, 3}));
  EXPECT_EQ(local.positions(2, 1), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(local.positions(2, 2), (std::vector<std::uint64_t>{4}));
}

std::shared_ptr<const LinkList> link_list() {
  static const std::vector<std::uint64_t> ends = {0, 9, 5, 6, 1, 8, 4, 7, 2, 7, 3, 8};
  static const std::vector<std::int64_t> times = {-1, 0, 7};
  static const std::vector<float> labels = {0.5F, 1, 2};
  return std::make_shared<const LinkList>(EdgeTypeId{4}, ends, 4, times, labels,
                                          std::vector<std::shared_ptr<const void>>{});
}

TEST(SeedOrder, OfLinksHasTheirEndsTimesAndLabels) {
  const SeedOrder order(link_list(), 2, 7, false);
  EXPECT_EQ(order.num_seeds(), 3U);
  ASSERT_EQ(order.num_batches(), 2U);
  const auto first = order.seeds_of(0, 0);
  EXPECT_TRUE(first.nodes.empty());
  ASSERT_TRUE(first.links);
  EXPECT_EQ(first.links->edge_type, EdgeTypeId{4});
  EXPECT_EQ(first.links->sources, (std::vector<NodeId>{NodeId{5}, NodeId{4}}));
  EXPECT_EQ(first.links->destinations, (std::vector<NodeId>{NodeId{6}, NodeId{7}}));
  EXPECT_EQ(first.links->times, (std::vector<std::int64_t>{-1, 0}));
  EXPECT_EQ(first.links->labels, (std::vector<float>{0.5F, 1}));
  EXPECT_EQ(order.seeds_of(0, 1).links->labels, (std::vector<float>{2}));
  EXPECT_TRUE(order.no_seeds().links->sources.empty());
  EXPECT_EQ(order.no_seeds().links->edge_type, EdgeTypeId{4});

  const auto slice = link_list()->slice(1, 2);
  EXPECT_EQ(slice.size(), 2U);
  EXPECT_EQ(slice.at(1).original_destination, OriginalId{7});
  EXPECT_EQ(slice.times()[0], 0);
  EXPECT_EQ(slice.labels()[1], 2);
}

TEST(SeedOrder, OfLinksIsPermutedByTheirEdgeType) {
  const SeedOrder order(link_list(), 3, 7, true);
  const Permutation expected(stream_key(7, {.domain = Domain::seed_order, .type = 4, .epoch = 2}),
                             3);
  EXPECT_EQ(order.positions(2, 0),
            (std::vector<std::uint64_t>{expected(0), expected(1), expected(2)}));
}

/// Links 0..n-1 of three edge types, the second without any.
std::shared_ptr<const LinkList> grouped_links(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> ends;
  for (std::uint64_t i = 0; i < first + last; ++i) {
    ends.insert(ends.end(), {i, 100 + i, i, 100 + i});
  }
  const auto kept = Segment::of(std::move(ends));
  return std::make_shared<const LinkList>(
      LinkList(EdgeTypeId{4}, kept.as<std::uint64_t>(), 4, {}, {}, {kept.owner})
          .in_groups({{EdgeTypeId{4}, 0, first},
                      {EdgeTypeId{1}, first, 0},
                      {EdgeTypeId{7}, first, last}}));
}

TEST(SeedOrder, OfSeveralEdgeTypesHasBatchesOfOneEach) {
  const SeedOrder order(grouped_links(25, 13), 10, 7, true);
  ASSERT_EQ(order.num_batches(), 3U + 2U);
  std::vector<std::uint64_t> all;
  std::vector<EdgeTypeId> types;
  for (std::uint64_t b = 0; b < 5; ++b) {
    const auto at = order.positions(3, b);
    const auto links = *order.seeds_of(3, b).links;
    types.push_back(links.edge_type);
    for (std::size_t i = 0; i < at.size(); ++i) {
      EXPECT_EQ(at[i] < 25, links.edge_type == EdgeTypeId{4});
      EXPECT_EQ(raw(links.sources[i]), at[i]);
      EXPECT_EQ(raw(links.destinations[i]), 100 + at[i]);
    }
    all.insert(all.end(), at.begin(), at.end());
  }
  std::ranges::sort(all);
  for (std::uint64_t i = 0; i < 38; ++i) {
    EXPECT_EQ(all.at(i), i);
  }
  EXPECT_EQ(std::ranges::count(types, EdgeTypeId{4}), 3);
  EXPECT_EQ(std::ranges::count(types, EdgeTypeId{7}), 2);
}

TEST(SeedOrder, OfSeveralEdgeTypesHasTheBatchesOfEachAloneInAnOrderOfEveryEpoch) {
  const SeedOrder both(grouped_links(35, 23), 4, 7, true);
  const SeedOrder one(
      std::make_shared<const LinkList>(grouped_links(35, 23)->slice(0, 35).in_groups({})), 4, 7,
      true);
  std::set<std::vector<std::uint64_t>> alone;
  for (std::uint64_t b = 0; b < one.num_batches(); ++b) {
    const auto at = one.positions(2, b);
    alone.emplace(at.begin(), at.end());
  }
  std::size_t found = 0;
  std::vector<bool> first_type;
  for (std::uint64_t b = 0; b < both.num_batches(); ++b) {
    const auto at = both.positions(2, b);
    found += alone.contains({at.begin(), at.end()}) ? 1U : 0U;
    first_type.push_back(at.front() < 35);
  }
  EXPECT_EQ(found, 9U);
  EXPECT_FALSE(std::ranges::is_sorted(first_type, std::greater<>())) << "types are mixed";
  const SeedOrder plain(grouped_links(35, 23), 4, 7, false);
  EXPECT_EQ(plain.positions(2, 9), (std::vector<std::uint64_t>{35, 36, 37, 38}));
  EXPECT_EQ(plain.positions(2, 8), (std::vector<std::uint64_t>{32, 33, 34}));
  const SeedOrder full(grouped_links(35, 23), 4, 7, true, {}, ShortBatch::dropped);
  EXPECT_EQ(full.num_batches(), 8U + 5U);
  for (std::uint64_t b = 0; b < 13; ++b) {
    EXPECT_EQ(full.positions(0, b).size(), 4U);
  }
}

/// What the definition says, written down a second time: the batches of each rank's share, type after
/// type, in an order of the rank's own.
std::vector<std::vector<std::uint64_t>> local_batches(const LinkList& links,
                                                      const SeedShares& shares,
                                                      const BatchSizes& sizes,
                                                      std::uint32_t epoch) {
  std::vector<std::vector<std::vector<std::uint64_t>>> of_rank(shares.size());
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    std::vector<std::vector<std::uint64_t>> batches;
    for (const auto& group : links.groups()) {
      std::vector<std::uint64_t> mine;
      std::ranges::copy_if(shares[rank], std::back_inserter(mine), [&](std::uint64_t at) {
        return at >= group.first && at < group.first + group.count;
      });
      const Permutation seeds(stream_key(7, {.domain = Domain::seed_order,
                                             .type = raw(group.edge_type),
                                             .hop = 1,
                                             .epoch = epoch,
                                             .batch = rank}),
                              mine.size());
      for (std::uint64_t b = 0; b < sizes.batches_of(mine.size()); ++b) {
        auto& batch = batches.emplace_back();
        for (auto i = b * sizes.size; i < std::min((b + 1) * sizes.size, mine.size()); ++i) {
          batch.push_back(mine[seeds(i)]);
        }
      }
    }
    const Permutation order(
        stream_key(7, {.domain = Domain::seed_order, .hop = 3, .epoch = epoch, .batch = rank}),
        batches.size());
    for (std::uint64_t b = 0; b < batches.size(); ++b) {
      of_rank[rank].push_back(batches[order(b)]);
    }
  }
  std::vector<std::vector<std::uint64_t>> all;
  for (std::size_t step = 0; step < of_rank.front().size(); ++step) {
    for (const auto& rank : of_rank) {
      if (step < rank.size()) {
        all.push_back(rank[step]);
      }
    }
  }
  return all;
}

/// All sizes of two groups around those where a rank gets a batch more than the next one.
TEST(SeedOrder, LocalBatchesOfSeveralEdgeTypesAreOfOneTypeAndOfTheirRanksShare) {
  for (const std::size_t world : {1U, 2U, 3U}) {
    std::vector<std::vector<PartId>> near(world);
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      near[rank] = {static_cast<PartId>(rank), static_cast<PartId>(rank + world)};
    }
    for (const auto last : {ShortBatch::kept, ShortBatch::dropped}) {
      for (std::uint64_t first = 0; first < 14; ++first) {
        for (std::uint64_t second = 0; second < 14; ++second) {
          const auto links = grouped_links(first, second);
          std::vector<PartId> owners;
          for (std::uint64_t i = 0; i < first + second; ++i) {
            owners.push_back(static_cast<PartId>(i * i % (2 * world)));
          }
          const BatchSizes sizes{2, last};
          const auto shares = local_split_of_groups(links->groups(), owners, near, sizes);
          const SeedOrder order(links, sizes.size, 7, true, shares, last);
          const auto expected = local_batches(*links, shares, sizes, 3);
          ASSERT_EQ(order.num_batches(), expected.size()) << first << " " << second;
          for (std::uint64_t b = 0; b < expected.size(); ++b) {
            const auto found = order.positions(3, b);
            EXPECT_EQ((std::vector<std::uint64_t>(found.begin(), found.end())), expected[b]);
            EXPECT_EQ(
                order.seeds_of(3, b).links->edge_type,
                EdgeTypeId{expected[b].front() < first ? std::uint16_t{4} : std::uint16_t{7}});
          }
        }
      }
    }
  }
}

TEST(LinkList, SlicesKeepWhichLinksAreOfWhichType) {
  const auto slice = grouped_links(5, 4)->slice(3, 4);
  EXPECT_EQ(slice.groups(),
            (std::vector<LinkGroup>{
                {EdgeTypeId{4}, 0, 2}, {EdgeTypeId{1}, 2, 0}, {EdgeTypeId{7}, 2, 2}}));
  EXPECT_EQ(slice.edge_type_at(1), EdgeTypeId{4});
  EXPECT_EQ(slice.edge_type_at(2), EdgeTypeId{7});
  EXPECT_EQ(link_list()->edge_type_at(2), EdgeTypeId{4});
}

TEST(SeedOrder, TimesOfNodesComeWithThem) {
  auto list = std::make_shared<SeedList>(*seed_list(3));
  list->times = {5, -6, 7};
  const auto seeds = SeedOrder(list, 2, 7, false).seeds_of(0, 1);
  EXPECT_EQ(seeds.nodes, (std::vector<NodeId>{NodeId{998}}));
  EXPECT_EQ(seeds.times, (std::vector<std::int64_t>{7}));
}

TEST(SeedOrder, TimesMayBeLeftOut) {
  auto list = std::make_shared<SeedList>(*seed_list(3));
  list->times = {5, -6, 7};
  SeedOrder of_nodes(list, 2, 7, false);
  of_nodes.leave_out_times();
  EXPECT_TRUE(of_nodes.seeds_of(0, 1).times.empty());
  EXPECT_EQ(of_nodes.seeds_of(0, 1).nodes, SeedOrder(list, 2, 7, false).seeds_of(0, 1).nodes);
  SeedOrder of_links(link_list(), 2, 7, false);
  of_links.leave_out_times();
  const auto links = *of_links.seeds_of(0, 0).links;
  EXPECT_TRUE(links.times.empty());
  EXPECT_EQ(links.labels, (std::vector<float>{0.5F, 1}));
  EXPECT_EQ(of_links.links()->times().size(), 3U) << "the list keeps them";
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
  const SeedOrder order(seed_list(13), 2, 7, true, shares);
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
