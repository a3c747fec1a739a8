#include "runtime/partition/hotness.hpp"

#include "runtime/partition/assign.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"

#include <array>
#include <cmath>
#include <numeric>

namespace troupe {
namespace {

using namespace testing;

class HotnessTest : public ::testing::Test {
 protected:
  GraphStore graph(const std::vector<std::uint64_t>& counts,
                   const std::vector<PlainEdgeType>& types) {
    auto store = store_of(plain_contents(counts, types), temp_ / std::to_string(number_++));
    EXPECT_OK(store);
    return *std::move(store);
  }
  Hotness heat(const GraphStore& store, const std::vector<std::uint64_t>& seeds,
               const HotnessOptions& options) {
    auto found = node_hotness(store, HotnessSeeds{{seeds}, seeds.size()}, options, executor_);
    EXPECT_OK(found);
    return *std::move(found);
  }

  TempDir temp_;
  int number_ = 0;
  InlineExecutor executor_;
};

TEST_F(HotnessTest, OnATreeItIsTheProductOfTheDraws) {
  // 0 is reached from 1 and 2, 1 from 3, 4 and 5
  const auto store = graph({6}, {{0, 0, {{1, 0}, {2, 0}, {3, 1}, {4, 1}, {5, 1}}}});
  const auto one = heat(store, {0}, {.fanout = {{1}, {2}}, .batch_size = 1})[0];
  EXPECT_FLOAT_EQ(one[0], 1);
  EXPECT_FLOAT_EQ(one[1], 0.5F);
  EXPECT_FLOAT_EQ(one[2], 0.5F);
  EXPECT_NEAR(one[3], 0.5 * 2 / 3, 1e-6);
  const auto all = heat(store, {0}, {.fanout = {{-1}, {-1}}, .batch_size = 1})[0];
  for (const float p : all) {
    EXPECT_FLOAT_EQ(p, 1);
  }
  const auto replaced = heat(store, {0}, {.fanout = {{2}}, .batch_size = 1, .replace = true})[0];
  EXPECT_NEAR(replaced[1], 0.75, 1e-6);
  EXPECT_EQ(replaced[3], 0);
}

TEST_F(HotnessTest, SeedsAreInABatchInProportion) {
  const auto store = graph({6}, {{0, 0, {{1, 0}}}});
  const auto found = heat(store, {0, 2, 4, 5}, {.fanout = {{0}}, .batch_size = 3})[0];
  EXPECT_EQ(found, (std::vector<float>{0.75F, 0, 0.75F, 0, 0.75F, 0.75F}));
  EXPECT_EQ(heat(store, {0, 2}, {.fanout = {{0}}, .batch_size = 100})[0][2], 1.0F);
}

TEST_F(HotnessTest, ANodeThatIsSeveralSeedsIsAsLikelyAsOneOfThem) {
  const auto store = graph({3}, {{0, 0, {{1, 0}}}});
  const auto found = heat(store, {0, 0, 0, 1}, {.batch_size = 2})[0];
  EXPECT_FLOAT_EQ(found[0], 1 - 0.5F * 0.5F * 0.5F);
  EXPECT_EQ(found[1], 0.5F);
  EXPECT_EQ(found[2], 0) << "no hop leads to it";
}

/// A split with links, and with nodes or without.
class HotnessOfLinks : public HotnessTest {
 protected:
  GraphStore with_links(GraphContents contents, const std::vector<std::uint64_t>& ends,
                        bool with_nodes = false) {
    auto& split = contents.info.splits.front();
    contents.links[{"", "train"}].ends = ends;
    split.links["train"] = {EdgeTypeId{0}, ends.size() / 2, false, false};
    if (!with_nodes) {
      split.roles.clear();
      contents.seeds.clear();
    }
    auto store = store_of(contents, temp_ / std::to_string(number_++));
    EXPECT_OK(store);
    return *std::move(store);
  }
};

TEST_F(HotnessOfLinks, EndsAreInABatchAsTheirLinksAre) {
  // Links lead from authors, t1, to papers, t0
  const auto store = with_links(plain_contents({3, 2}, {{1, 0, {{0, 0}, {0, 1}, {1, 1}}}}),
                                {0, 0, 0, 1, 1, 1, 1, 1});
  ASSERT_OK_AND_ASSIGN(const auto found,
                       node_hotness(store, "", {.fanout = {{0}}, .batch_size = 2}, executor_));
  EXPECT_EQ(found[0], (std::vector<float>{0.5F, 0.875F, 0}));
  EXPECT_EQ(found[1], (std::vector<float>{0.75F, 0.75F}));
}

TEST_F(HotnessOfLinks, ALinkFromANodeToItselfCountsOnce) {
  const auto store = with_links(plain_contents({3}, {{0, 0, {{1, 0}}}}), {0, 1, 2, 2});
  ASSERT_OK_AND_ASSIGN(const auto found, node_hotness(store, "", {.batch_size = 1}, executor_));
  EXPECT_EQ(found[0], (std::vector<float>{0.5F, 0.5F, 0.5F}));
}

TEST_F(HotnessOfLinks, OfASplitWithNodesTooTheyCountWhereTheyAreAskedFor) {
  const auto store = with_links(plain_contents({4}, {{0, 0, {{1, 0}}}}), {1, 2}, true);
  ASSERT_OK_AND_ASSIGN(const auto nodes, node_hotness(store, "", {.batch_size = 1}, executor_));
  EXPECT_EQ(nodes[0], (std::vector<float>{0.5F, 0, 0, 0.5F}));
  ASSERT_OK_AND_ASSIGN(const auto links,
                       node_hotness(store, "", {.batch_size = 1, .links = true}, executor_));
  EXPECT_EQ(links[0], (std::vector<float>{0, 1, 1, 0}));
}

TEST_F(HotnessOfLinks, TheMethodGivesLinksAndTheirSurroundingsToOnePart) {
  // Chains of three nodes; the first two of each are linked
  EdgePairs edges;
  std::vector<std::uint64_t> ends;
  constexpr std::uint64_t chains = 60;
  for (std::uint64_t c = 0; c < chains; ++c) {
    edges.emplace_back(3 * c + 1, 3 * c);
    edges.emplace_back(3 * c + 2, 3 * c + 1);
    ends.insert(ends.end(), {3 * c + 1, 3 * c});
  }
  const auto store = with_links(plain_contents({3 * chains}, {{0, 0, edges}}), ends);
  AssignOptions options{.method = "hotness", .parts = 3, .seed = 1};
  options.more.hotness = {.fanout = {{-1}}, .batch_size = 4, .links = true};
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign(store, options, executor_));
  EXPECT_EQ(assigned.measures.cut_edges, 0U);
  options.parts = chains + 1;
  EXPECT_ERROR(assign(store, options, executor_), Errc::invalid_argument,
               "expected at least 61 training seeds or links, one per part, got 60");
}

TEST_F(HotnessOfLinks, ASplitWithNeitherIsRefusedWithWhatToTry) {
  auto contents = plain_contents({3}, {{0, 0, {{1, 0}}}});
  contents.info.splits.front().roles.clear();
  contents.seeds.clear();
  ASSERT_OK_AND_ASSIGN(const auto store, store_of(contents, temp_ / "neither"));
  EXPECT_ERROR(node_hotness(store, "", {.fanout = {{2}}}, executor_), Errc::not_found,
               "no training nodes and no training links: order nodes by \"degree\"");
}

TEST_F(HotnessOfLinks, AllEdgesCountAsLinksThatAreTheSame) {
  // Parallel edges, one from a node to itself, and another type
  const EdgePairs edges{{0, 1}, {0, 1}, {2, 2}, {3, 0}, {1, 3}};
  const auto contents = plain_contents({5, 2}, {{0, 0, edges}, {1, 0, {{0, 4}, {1, 4}}}});
  ASSERT_OK_AND_ASSIGN(const auto store, store_of(contents, temp_ / "edges"));
  const auto linked = with_links(contents, {0, 1, 0, 1, 1, 3, 2, 2, 3, 0});
  for (const std::uint64_t batch_size : {1U, 3U, 100U}) {
    HotnessOptions options{.fanout = {{1}, {-1}}, .batch_size = batch_size, .links = true};
    ASSERT_OK_AND_ASSIGN(const auto of_links, node_hotness(linked, "", options, executor_));
    options.edges = {EdgeTypeId{0}};
    ASSERT_OK_AND_ASSIGN(const auto of_edges, node_hotness(store, "", options, executor_));
    for (std::size_t type = 0; type < 2; ++type) {
      for (std::size_t node = 0; node < of_links[type].size(); ++node) {
        EXPECT_NEAR(of_edges[type][node], of_links[type][node], 1e-6) << type << " " << node;
      }
    }
  }
  HotnessOptions both{.batch_size = 1, .edges = {EdgeTypeId{1}, EdgeTypeId{0}}};
  ASSERT_OK_AND_ASSIGN(const auto of_both, node_hotness(store, "", both, executor_));
  EXPECT_NEAR(of_both[0][4], 1 - std::pow(6.0 / 7, 2), 1e-6);
  EXPECT_NEAR(of_both[1][0], 1.0 / 7, 1e-6);
  both.edges = {EdgeTypeId{2}};
  EXPECT_ERROR(node_hotness(store, "", both, executor_), Errc::invalid_argument,
               "expected types below 2 of edges");
}

TEST_F(HotnessOfLinks, AllNodesAreAsLikelyAsEachOther) {
  const auto store = graph({4, 3}, {{1, 0, {{0, 0}}}});
  const HotnessOptions options{.batch_size = 1, .nodes = NodeTypeId{0}};
  ASSERT_OK_AND_ASSIGN(const auto found, node_hotness(store, "", options, executor_));
  EXPECT_EQ(found[0], (std::vector<float>{0.25F, 0.25F, 0.25F, 0.25F}));
  EXPECT_EQ(found[1], (std::vector<float>{0, 0, 0}));
}

TEST_F(HotnessOfLinks, EdgesAndNodesAreDealtOutEvenlyAndOnce) {
  EdgePairs edges;
  for (std::uint64_t i = 0; i < 100; ++i) {
    edges.emplace_back(i % 7, i * i % 11);
  }
  const auto store = graph({12}, {{0, 0, edges}});
  for (const auto& options :
       {HotnessOptions{.edges = {EdgeTypeId{0}}}, HotnessOptions{.nodes = NodeTypeId{0}}}) {
    ASSERT_OK_AND_ASSIGN(const auto whole, deal_training_seeds(store, "", options, 1, 5));
    ASSERT_OK_AND_ASSIGN(const auto dealt, deal_training_seeds(store, "", options, 3, 5));
    ASSERT_OK_AND_ASSIGN(const auto other, deal_training_seeds(store, "", options, 3, 6));
    std::vector<std::uint32_t> sum(12, 0);
    std::uint64_t count = 0;
    for (const auto& share : dealt) {
      EXPECT_NEAR(static_cast<double>(share.count), static_cast<double>(whole[0].count) / 3, 1);
      count += share.count;
      for (std::size_t node = 0; node < sum.size(); ++node) {
        sum[node] += share.times[0][node];
      }
    }
    EXPECT_EQ(count, whole[0].count);
    EXPECT_EQ(sum, whole[0].times[0]);
    EXPECT_NE(other[0].times, dealt[0].times);
  }
}

TEST_F(HotnessOfLinks, AStoreWithoutSplitsIsRefusedWithWhatToTry) {
  auto contents = plain_contents({3}, {{0, 0, {{1, 0}}}});
  contents.info.splits.clear();
  contents.seeds.clear();
  ASSERT_OK_AND_ASSIGN(const auto store, store_of(contents, temp_ / "no_splits"));
  EXPECT_ERROR(node_hotness(store, "", {.fanout = {{2}}}, executor_), Errc::not_found,
               "no training nodes and no training links: order nodes by \"degree\"");
}

TEST_F(HotnessTest, OutNeighboursAreReachedAlongTheEdges) {
  const auto store = graph({4}, {{0, 0, {{0, 1}, {0, 2}, {1, 3}}}});
  const auto found =
      heat(store, {0}, {.fanout = {{1}, {1}}, .batch_size = 1, .dir = EdgeDir::out})[0];
  EXPECT_EQ(found, (std::vector<float>{1, 0.5F, 0.5F, 0.5F}));
}

TEST_F(HotnessTest, TheFrontierIsTheNewNodesOrAll) {
  // 0 has 2 in-neighbours; with all nodes it is asked for again in the second hop
  const auto store = graph({3}, {{0, 0, {{1, 0}, {2, 0}}}});
  EXPECT_NEAR(heat(store, {0}, {.fanout = {{1}, {1}}, .batch_size = 1})[0][1], 0.5, 1e-6);
  const HotnessOptions all{.fanout = {{1}, {1}}, .batch_size = 1, .all_nodes = true};
  EXPECT_NEAR(heat(store, {0}, all)[0][1], 0.75, 1e-6);
}

TEST_F(HotnessTest, EveryEdgeTypeHasItsOwnFanout) {
  const auto store = graph({2, 4}, {{1, 0, {{0, 0}, {1, 0}}}, {1, 0, {{2, 0}, {3, 0}}}});
  const auto found = heat(store, {0}, {.fanout = {{1, -1}}, .batch_size = 1});
  EXPECT_EQ(found[0], (std::vector<float>{1, 0}));
  EXPECT_EQ(found[1], (std::vector<float>{0.5F, 0.5F, 1, 1}));
}

TEST_F(HotnessTest, TheNumberOfThreadsChangesNoBit) {
  const auto store = graph({9000}, {{0, 0, both_ways(grouped_edges(5, 1800, 6000, 4000))}});
  std::vector<std::uint64_t> seeds(300);
  std::iota(seeds.begin(), seeds.end(), 50);
  const HotnessOptions options{.fanout = {{5}, {3}, {2}}, .batch_size = 32};
  const auto alone = heat(store, seeds, options);
  ComputePool pool(4);
  ASSERT_OK_AND_ASSIGN(const auto together,
                       node_hotness(store, HotnessSeeds{{seeds}, seeds.size()}, options, pool));
  EXPECT_EQ(alone, together);
}

TEST_F(HotnessTest, AHubOfVeryManyCertainEdgesHasProbabilityOne) {
  EdgePairs edges;
  for (std::uint64_t v = 1; v < 3000; ++v) {
    for (int parallel = 0; parallel < 4; ++parallel) {
      edges.emplace_back(0, v);
    }
  }
  const auto store = graph({3000}, {{0, 0, edges}});
  std::vector<std::uint64_t> seeds(2999);
  std::iota(seeds.begin(), seeds.end(), 1);
  EXPECT_EQ(heat(store, seeds, {.fanout = {{-1}}, .batch_size = 2999})[0][0], 1.0F);
}

TEST_F(HotnessTest, WhatCannotBeIsSaid) {
  const auto store = graph({3}, {{0, 0, {{1, 0}}}});
  const auto found = [&](const std::vector<std::uint64_t>& seeds, const HotnessOptions& options) {
    return node_hotness(store, HotnessSeeds{{seeds}, seeds.size()}, options, executor_);
  };
  const HotnessOptions good{.fanout = {{2}}};
  EXPECT_ERROR(found({}, good), Errc::invalid_argument, "expected seeds, got none");
  EXPECT_ERROR(found({3}, good), Errc::invalid_argument, "expected seeds below 3, got 3");
  EXPECT_ERROR(found({0}, {.fanout = {{2}}, .batch_size = 0}), Errc::invalid_argument,
               "at least 1, got 0");
  EXPECT_ERROR(found({0}, {.fanout = {{-2}}}), Errc::invalid_argument, "got -2");
  EXPECT_ERROR(found({0}, {.fanout = {{1, 1, 1}}}), Errc::invalid_argument, "one fanout or 1");
  EXPECT_ERROR(node_hotness(store, "other", good, executor_), Errc::not_found, "other");
}

TEST_F(HotnessTest, TheMethodSharesNodesEvenlyWhateverTheThreads) {
  const auto store = graph({400}, {{0, 0, both_ways(grouped_edges(2, 200, 900, 0))}});
  AssignOptions options{.method = "hotness", .parts = 2, .seed = 4};
  options.more.hotness = {.fanout = {{4}, {4}}, .batch_size = 8};
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign(store, options, executor_));
  std::array<std::uint64_t, 2> sizes{};
  for (const auto part : assigned.parts[0]) {
    ++sizes[raw(part)];
  }
  EXPECT_EQ(sizes, (std::array<std::uint64_t, 2>{200, 200}));
  ComputePool pool(3);
  ASSERT_OK_AND_ASSIGN(const auto again, assign(store, options, pool));
  EXPECT_EQ(assigned.parts, again.parts);
}

TEST_F(HotnessTest, TheMethodGivesSeedsAndTheirSurroundingsToOnePart) {
  // Chains of three nodes; the first of each is a seed, as every third node of plain_contents is
  EdgePairs edges;
  constexpr std::uint64_t chains = 60;
  for (std::uint64_t c = 0; c < chains; ++c) {
    edges.emplace_back(3 * c + 1, 3 * c);
    edges.emplace_back(3 * c + 2, 3 * c + 1);
  }
  const auto store = graph({3 * chains}, {{0, 0, edges}});
  AssignOptions options{.method = "hotness", .parts = 3, .seed = 1};
  options.more.hotness = {.fanout = {{-1}, {-1}}, .batch_size = 4};
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign(store, options, executor_));
  EXPECT_EQ(assigned.measures.cut_edges, 0U);
}

TEST_F(HotnessTest, TheMethodNeedsASeedPerPart) {
  const auto store = graph({9}, {{0, 0, {{1, 0}}}});
  AssignOptions options{.method = "hotness", .parts = 4};
  options.more.hotness.fanout = {{2}};
  EXPECT_ERROR(assign(store, options, executor_), Errc::invalid_argument,
               "expected at least 4 training seeds or links, one per part, got 3");
}

}  // namespace
}  // namespace troupe
