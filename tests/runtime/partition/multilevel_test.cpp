#include "runtime/partition/multilevel.hpp"

#include "runtime/partition/clustering.hpp"
#include "runtime/partition/contract.hpp"
#include "runtime/partition/part_loads.hpp"
#include "runtime/partition/refine.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"

#include <map>
#include <numeric>

namespace troupe {
namespace {

using namespace testing;
using Labels = std::vector<std::uint32_t>;

/// A store with what is made of it.
struct Given {
  GraphStore store;
  Adjacency graph;
  Constraints constraints;
};

class Multilevel : public ::testing::Test {
 protected:
  Result<Given> given(const std::vector<std::uint64_t>& counts, const EdgePairs& edges,
                      std::vector<std::string> balance = {}) {
    TROUPE_ASSIGN_OR_RETURN(auto store,
                            store_of(plain_contents(counts, {{0, 0, edges}}), temp_ / "graph"));
    InlineExecutor executor;
    TROUPE_ASSIGN_OR_RETURN(auto graph, Adjacency::make(store, {}, executor));
    TROUPE_ASSIGN_OR_RETURN(auto constraints, Constraints::make(store, {.names = std::move(balance),
                                                                        .imbalance = 1.05}));
    return Given{std::move(store), std::move(graph), std::move(constraints)};
  }
  static Labels labels_of(const Clustering& clustering) {
    return {clustering.labels().begin(), clustering.labels().end()};
  }
  static std::map<std::uint32_t, std::uint64_t> sizes(const Labels& labels) {
    std::map<std::uint32_t, std::uint64_t> all;
    for (const auto label : labels) {
      ++all[label];
    }
    return all;
  }
  /// Entries that lead from one part to another.
  static std::uint64_t cut(const Adjacency& graph, const Labels& part_of) {
    std::uint64_t entries = 0;
    for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
      graph.for_each_neighbour(v, [&](std::uint64_t u) { entries += part_of[u] != part_of[v]; });
    }
    return entries;
  }

  TempDir temp_;
  InlineExecutor alone_;
};

TEST_F(Multilevel, ClustersAreTheGroupsOfAGraphWhereTheyFit) {
  ASSERT_OK_AND_ASSIGN(const auto g, given({240}, both_ways(grouped_edges(6, 40, 400, 20))));
  Clustering clustering(g.graph, g.constraints, alone_);

  clustering.propagate(std::vector<std::uint64_t>{40}, 10);

  const auto labels = labels_of(clustering);
  std::uint64_t together = 0;
  for (std::size_t v = 0; v + 6 < labels.size(); ++v) {  // node i is of group i % 6
    together += labels[v] == labels[v + 6] ? 1U : 0U;
  }
  EXPECT_GT(together, 180U);
}

TEST_F(Multilevel, NoClusterIsHeavierThanItsLimitUnderAnyConstraint) {
  ASSERT_OK_AND_ASSIGN(
      const auto g, given({300}, both_ways(grouped_edges(3, 100, 1500, 100)), {"edges", "train"}));
  const std::vector<std::uint64_t> limits{12, 150, 4};
  Clustering clustering(g.graph, g.constraints, alone_);

  clustering.propagate(limits, 10);
  clustering.group_singles();

  std::map<std::uint32_t, std::vector<std::uint64_t>> loads;
  std::vector<std::uint64_t> weights(3);
  const auto labels = labels_of(clustering);
  for (std::uint64_t v = 0; v < labels.size(); ++v) {
    g.constraints.weights(v, weights);
    auto& load = loads[labels[v]];
    load.resize(3);
    for (std::size_t c = 0; c < 3; ++c) {
      load[c] += weights[c];
    }
  }
  EXPECT_LT(loads.size(), 100U);
  for (const auto& [label, load] : loads) {
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_LE(load[c], limits[c]) << "cluster " << label << ", " << g.constraints.name(c);
    }
  }
}

TEST_F(Multilevel, VerticesAloneArePutTogetherByWhereTheyLead) {
  EdgePairs edges;
  for (std::uint64_t leaf = 2; leaf < 42; ++leaf) {
    edges.emplace_back(leaf, leaf % 2);  // two stars; then ten nodes without edges
  }
  ASSERT_OK_AND_ASSIGN(const auto g, given({52}, edges));
  Clustering clustering(g.graph, g.constraints, alone_);

  clustering.propagate(std::vector<std::uint64_t>{5}, 3);
  clustering.group_singles();

  const auto labels = labels_of(clustering);
  const auto all = sizes(labels);
  EXPECT_LE(all.size(), 14U);  // (21 / 5, rounded up) * 2 + 10 / 5, and what is left open
  for (std::size_t v = 2; v < 42; ++v) {
    for (std::size_t u = 2; u < 42; ++u) {
      EXPECT_TRUE(labels[v] != labels[u] || v % 2 == u % 2) << v << " with " << u;
    }
    for (std::size_t isolated = 42; isolated < 52; ++isolated) {
      EXPECT_NE(labels[v], labels[isolated]);
    }
  }
}

TEST_F(Multilevel, ClustersDoNotDependOnThreads) {
  ASSERT_OK_AND_ASSIGN(const auto g, given({2000}, both_ways(grouped_edges(10, 200, 5000, 3000))));
  Clustering one(g.graph, g.constraints, alone_);
  ComputePool pool(4);
  Clustering many(g.graph, g.constraints, pool);
  for (auto* clustering : {&one, &many}) {
    clustering->propagate(std::vector<std::uint64_t>{16}, 5);
    clustering->group_singles();
  }
  EXPECT_EQ(labels_of(one), labels_of(many));
}

TEST_F(Multilevel, AGraphOfClustersKeepsWeightsAndEdgesBetween) {
  //  {0, 3} {1, 2} {4}: edges 0-1 twice, 3-2 once, 2-4 once, 0-3 inside
  ASSERT_OK_AND_ASSIGN(const auto g,
                       given({5}, {{0, 1}, {1, 0}, {3, 2}, {2, 4}, {0, 3}}, {"edges"}));
  const ClusterMembers clusters(Labels{3, 1, 1, 3, 0});
  ASSERT_EQ(clusters.clusters(), 3U);

  const auto degrees = count_cluster_edges(g.graph, clusters, alone_);
  ASSERT_OK_AND_ASSIGN(const auto small,
                       contract(g.graph, g.constraints, clusters, degrees, alone_));

  EXPECT_EQ(degrees, (std::vector<std::uint64_t>{1, 2, 1}));
  EXPECT_EQ(small.offsets, (std::vector<std::int32_t>{0, 1, 3, 4}));
  EXPECT_EQ(small.neighbours, (std::vector<std::int32_t>{1, 0, 2, 1}));
  EXPECT_EQ(small.edge_weights, (std::vector<std::int32_t>{3, 3, 1, 1}));
  // nodes and edges by the part of their destination: 0 and 3 have one each, 1 one, 2 one, 4 one
  EXPECT_EQ(small.vertex_weights, (std::vector<std::int32_t>{2, 2, 2, 2, 1, 1}));
}

TEST_F(Multilevel, MoreEdgesBetweenClustersThanMetisCountsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const auto g, given({2}, {{0, 1}}));
  const ClusterMembers clusters(Labels{0, 1});

  EXPECT_ERROR(contract(g.graph, g.constraints, clusters,
                        std::vector<std::uint64_t>{1ULL << 30, 1ULL << 30}, alone_),
               Errc::unimplemented,
               "multilevel: expected at most 2147483647 edges between clusters of nodes (METIS' "
               "indices have 32 bits), found 2147483648\ntry: \"fennel\"");
}

TEST_F(Multilevel, RefiningLowersTheCutWithinTheLimits) {
  ASSERT_OK_AND_ASSIGN(const auto g, given({400}, both_ways(grouped_edges(4, 100, 1000, 100))));
  Labels part_of(400);
  for (std::uint32_t v = 0; v < 400; ++v) {
    part_of[v] = v % 9 == 0 ? v / 100 : v % 4;  // mostly the groups
  }
  const auto before = cut(g.graph, part_of);
  auto again = part_of;

  refine(g.graph, g.constraints, part_of, 4, 10, alone_);

  EXPECT_LT(cut(g.graph, part_of), before * 3 / 4);
  EXPECT_TRUE(loads_of(g.constraints, part_of, 4).within_limits());
  ComputePool pool(3);
  refine(g.graph, g.constraints, again, 4, 10, pool);
  EXPECT_EQ(part_of, again);
}

#ifdef TROUPE_HAVE_METIS
TEST_F(Multilevel, CutsNearlyAsLittleAsMetis) {
  ASSERT_OK_AND_ASSIGN(const auto g, given({6000}, both_ways(grouped_edges(60, 100, 50000, 8000))));
  const AssignOptions options{.method = "multilevel", .parts = 4, .seed = 1};
  ASSERT_OK_AND_ASSIGN(const auto quick,
                       assign_multilevel(g.graph, g.constraints, options, alone_));
  ASSERT_OK_AND_ASSIGN(const auto best, assign_metis(g.graph, g.constraints, options));
  EXPECT_LE(static_cast<double>(cut(g.graph, quick)),
            1.25 * static_cast<double>(cut(g.graph, best)));
  EXPECT_TRUE(loads_of(g.constraints, quick, 4).within_limits());
}
#endif

}  // namespace
}  // namespace troupe
