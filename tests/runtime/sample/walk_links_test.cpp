// Pairs of nodes near each other on walks as positive links: against walks and links drawn apart.
#include "runtime/sample/walks/walk_pairs.hpp"
#include "tests/runtime/sample/drive_links.hpp"
#include "tests/runtime/sample/drive_walks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr BatchKey pairs_key{.epoch = 3, .number = 11};
const std::vector<std::uint64_t> pair_seeds = {1, 17, 49, 10, 1, 33};

testing::PlainLinks seeds_as_links() {
  testing::PlainLinks links;
  for (const auto seed : pair_seeds) {
    links.links.push_back({seed, seed});
  }
  return links;
}

/// Pairs from the definition: walk by walk, center by center, by distance in a sequence that begins anew
/// with the seed where the walk returned.
std::vector<testing::TestEdge> pairs_of(const testing::PlainWalks& walks, std::uint32_t length,
                                        std::uint32_t window) {
  std::vector<testing::TestEdge> pairs;
  const auto columns = length + std::size_t{1};
  for (std::size_t first = 0; first < walks.nodes.size(); first += columns) {
    std::vector<std::vector<std::uint64_t>> sequences(1);
    for (std::size_t at = first; at < first + columns; ++at) {
      if (std::ranges::find(walks.restarts, at) != walks.restarts.end()) {
        sequences.push_back({walks.nodes[first]});
      }
      if (walks.nodes[at] != testing::no_original) {
        sequences.back().push_back(walks.nodes[at]);
      }
    }
    for (const auto& sequence : sequences) {
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        for (std::size_t j = 0; j < sequence.size(); ++j) {
          const auto apart = i > j ? i - j : j - i;
          if (apart <= window && sequence[i] != sequence[j]) {
            pairs.push_back({sequence[i], sequence[j]});
          }
        }
      }
    }
  }
  return pairs;
}

TEST(WalkLinks, AreThePairsOfWalksWithNegativesOfTheirOwn) {
  const auto graph = testing::skewed_graph(50, 5);
  for (const auto& walks :
       std::vector<WalkOptions>{{.length = 6, .along = {EdgeTypeId{0}}, .window = 2},
                                {.length = 5,
                                .per_seed = 3,
                                .restart_below = 1U << 30,
                                .along = {EdgeTypeId{0}},
                                .window = 9},
                                {.length = 4,
                                .along = {EdgeTypeId{0}},
                                .second_order = candidate_thresholds(4, 0.25),
                                .window = 1}}) {
    for (const bool hops : {false, true}) {
      SampleOptions options;
      options.job_seed = 42;
      options.fanout = hops ? std::vector<std::vector<std::int32_t>>{{3}, {2}}
                            : std::vector<std::vector<std::int32_t>>{};
      options.links = LinkOptions{.negatives = {.kind = Negatives::triplet, .per_positive = 2},
                                  .exclude = hops};
      auto walking = options;
      walking.walks = walks;
      testing::PlainLinks pairs;
      pairs.links = pairs_of(testing::reference_walks(graph, walking, pairs_key, pair_seeds),
                             walks.length, walks.window);
      ASSERT_GT(pairs.links.size(), 20U);
      const auto expected = testing::reference_links(graph, options, pairs_key, pairs);
      for (const std::uint32_t parts : {1U, 2U, 5U}) {
        const auto cut = testing::cut_graph(graph, parts, parts == 2);
        for (const std::uint32_t here : {0U, 1U, 5U}) {
          const auto batch = testing::drive_links(cut, walking, pairs_key, seeds_as_links(), here);
          EXPECT_FALSE(batch.walks.has_value());
          EXPECT_EQ(testing::plain(batch, cut), expected) << "parts " << parts << ", here " << here;
        }
      }
    }
  }
}

TEST(WalkLinks, NodesWithoutNeighborsHaveNone) {
  testing::TestGraph graph;
  graph.nodes.push_back({.name = "node", .count = 4});
  graph.edges.push_back({.name = "edge", .source = 0, .destination = 0});
  const auto cut = testing::cut_graph(graph, 2);
  SampleOptions options;
  options.links = LinkOptions{.negatives = {.kind = Negatives::triplet}};
  options.walks = WalkOptions{.length = 3, .along = {EdgeTypeId{0}}, .window = 2};
  testing::PlainLinks links;
  links.links = {{0, 0}, {3, 3}};

  const auto batch = testing::drive_links(cut, options, pairs_key, links);

  ASSERT_TRUE(batch.links.has_value());
  EXPECT_EQ(batch.links->sources.size(), 0U);
  EXPECT_EQ(batch.seed_index.size(), 0U);
  EXPECT_EQ(batch.num_nodes(), 0U);
}

}  // namespace
}  // namespace troupe
