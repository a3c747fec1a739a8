// Pairs of nodes near each other on walks as positive links: against walks and links drawn apart.
#include "runtime/sample/walks/walk_pairs.hpp"
#include "tests/runtime/sample/drive_links.hpp"
#include "tests/runtime/sample/drive_walks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
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

using Places = std::vector<std::pair<std::size_t, std::size_t>>;

/// The definition gives pairs walk by walk, center by center, by distance in a sequence. A walk that returned to its
/// seed begins a new sequence with it.
Places places_of_pairs(const testing::PlainWalks& walks, std::uint32_t length,
                       std::uint32_t window) {
  Places pairs;
  const auto columns = length + std::size_t{1};
  for (std::size_t first = 0; first < walks.nodes.size(); first += columns) {
    std::vector<std::vector<std::size_t>> sequences(1);
    for (std::size_t at = first; at < first + columns; ++at) {
      if (std::ranges::find(walks.restarts, at) != walks.restarts.end()) {
        sequences.push_back({first});
      }
      if (walks.nodes[at] != testing::no_original) {
        sequences.back().push_back(at);
      }
    }
    for (const auto& sequence : sequences) {
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        for (std::size_t j = 0; j < sequence.size(); ++j) {
          const auto apart = i > j ? i - j : j - i;
          if (apart > 0 && apart <= window) {
            pairs.emplace_back(sequence[i], sequence[j]);
          }
        }
      }
    }
  }
  return pairs;
}

std::vector<testing::TestEdge> pairs_of(const testing::PlainWalks& walks, std::uint32_t length,
                                        std::uint32_t window) {
  std::vector<testing::TestEdge> pairs;
  for (const auto& [center, context] : places_of_pairs(walks, length, window)) {
    if (walks.nodes[center] != walks.nodes[context]) {
      pairs.push_back({walks.nodes[center], walks.nodes[context]});
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

/// Walks by weight as walks alone make them, and false ones as often as they have edges.
TEST(WalkLinks, GoByWeightsAndAwayByDegree) {
  auto graph = testing::skewed_graph(50, 5);
  testing::add_weights(graph.edges[0]);
  SampleOptions options;
  options.job_seed = 42;
  options.choice = place_of_kind(choice_kinds(), "weighted");
  options.fanout = {{3}, {2}};
  options.links =
      LinkOptions{.negatives = {.kind = Negatives::binary, .per_positive = 2, .by_degree = true},
                  .exclude = false};
  auto walking = options;
  walking.walks = WalkOptions{.length = 6, .per_seed = 2, .along = {EdgeTypeId{0}}, .window = 2};
  auto alone = walking;
  alone.links.reset();
  for (const std::uint32_t parts : {1U, 3U}) {
    auto cut = testing::cut_graph(graph, parts);
    testing::add_alias_tables(cut, EdgeDir::in);
    testing::PlainLinks pairs;
    pairs.links = pairs_of(testing::walk_plain(cut, alone, pairs_key, pair_seeds), 6, 2);
    ASSERT_GT(pairs.links.size(), 20U);
    const auto expected = testing::reference_links(graph, options, pairs_key, pairs);
    for (const std::uint32_t here : {0U, 3U}) {
      const auto batch = testing::drive_links(cut, walking, pairs_key, seeds_as_links(), here);
      EXPECT_EQ(testing::plain(batch, cut), expected) << "parts " << parts << ", here " << here;
    }
  }
}

/// Users buy items; a type without edges joins users, for the twin.
testing::TestGraph bought_graph() {
  testing::TestGraph graph;
  graph.nodes = {{.name = "user", .count = 50}, {.name = "item", .count = 60}};
  graph.edges = {{.name = "buys", .source = 0, .destination = 1},
                 {.name = "bought_by", .source = 1, .destination = 0},
                 {.name = "near", .source = 0, .destination = 0}};
  for (std::uint64_t user = 0; user < 50; ++user) {
    for (std::uint64_t k = 0; k < 1 + user % 5; ++k) {
      const std::uint64_t item = (user * user + 7 * k) % 23;
      graph.edges[0].edges.push_back({user, item});
      graph.edges[1].edges.push_back({item, user});
    }
  }
  return graph;
}

/// Pairs of users on walks from users to items and back; steps through items count.
TEST(WalkLinks, AlongSeveralTypesArePairsOfTheFirst) {
  const auto graph = bought_graph();
  for (const std::uint32_t window : {2U, 3U, 4U}) {
    SampleOptions options;
    options.dir = EdgeDir::out;
    options.job_seed = 42;
    options.fanout = {{3, 2, 0}, {2, 3, 0}};
    options.links =
        LinkOptions{.negatives = {.kind = Negatives::binary, .per_positive = 2}, .exclude = false};
    auto walking = options;
    walking.links->pairs_of = NodeTypeId{0};
    walking.walks = WalkOptions{.length = 6,
                                .per_seed = 2,
                                .restart_below = 1U << 29,
                                .along = {EdgeTypeId{0}, EdgeTypeId{1}},
                                .window = window};
    auto walks = testing::reference_walks(graph, walking, pairs_key, pair_seeds);
    testing::PlainLinks pairs{.edge_type = 2, .links = {}};
    // Places of items hold no users: they are taken out, and what stays is half as far apart.
    testing::PlainWalks users;
    for (std::size_t at = 0; at < walks.nodes.size(); ++at) {
      if (at % 7 % 2 == 0) {
        const bool returned = std::ranges::find(walks.restarts, at) != walks.restarts.end();
        if (returned) {
          users.restarts.push_back(static_cast<std::uint32_t>(users.nodes.size()));
        }
        users.nodes.push_back(walks.nodes[at]);
      } else if (std::ranges::find(walks.restarts, at) != walks.restarts.end()) {
        users.restarts.push_back(
            static_cast<std::uint32_t>(users.nodes.size()));  // before the next user
      }
    }
    pairs.links = pairs_of(users, 3, window / 2);
    ASSERT_GT(pairs.links.size(), 10U);
    const auto expected = testing::reference_links(graph, options, pairs_key, pairs);
    for (const std::uint32_t parts : {1U, 3U}) {
      const auto cut = testing::cut_graph(graph, parts);
      const auto batch = testing::drive_links(cut, walking, pairs_key, seeds_as_links());
      ASSERT_TRUE(batch.links);
      EXPECT_EQ(batch.links->source_type, NodeTypeId{0});
      EXPECT_EQ(batch.links->destination_type, NodeTypeId{0});
      EXPECT_EQ(testing::plain(batch, cut), expected) << "window " << window << ", parts " << parts;
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

/// Batch after batch takes the next of the types, and each epoch begins one further.
TEST(WalkLinks, OfSeveralTypesTakeThemByTurns) {
  const auto graph = bought_graph();
  const NodeTypeId user{0};
  const NodeTypeId item{1};
  const std::vector<LinkEndTypes> turns{{user, user}, {user, item}, {item, user}, {item, item}};
  SampleOptions options;
  options.dir = EdgeDir::out;
  options.job_seed = 42;
  options.links =
      LinkOptions{.negatives = {.kind = Negatives::binary, .per_positive = 2}, .exclude = false};
  options.links->pairs_of = user;
  options.links->pair_types = turns;
  options.walks = WalkOptions{.length = 6,
                              .per_seed = 2,
                              .restart_below = 1U << 29,
                              .along = {EdgeTypeId{0}, EdgeTypeId{1}},
                              .window = 3};
  const auto cut = testing::cut_graph(graph, 3);
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    for (std::uint64_t number = 0; number < 5; ++number) {
      const BatchKey key{.epoch = epoch, .number = number};
      const auto turn = turns[(epoch + number) % turns.size()];
      const auto walks = testing::reference_walks(graph, options, key, pair_seeds);
      // Users have even places of a walk, items odd ones: pairs are of those whose places have the turn's types.
      std::vector<std::uint64_t> centers;
      std::vector<std::uint64_t> contexts;
      for (const auto& [center, context] : places_of_pairs(walks, 6, 3)) {
        const auto a = walks.nodes[center];
        const auto b = walks.nodes[context];
        const bool fits =
            center % 7 % 2 == raw(turn.source) && context % 7 % 2 == raw(turn.destination);
        if (fits && (turn.source != turn.destination || a != b)) {
          centers.push_back(a);
          contexts.push_back(b);
        }
      }
      SCOPED_TRACE("epoch " + std::to_string(epoch) + ", batch " + std::to_string(number));
      const auto batch = testing::drive_links(cut, options, key, seeds_as_links(), 3);
      ASSERT_TRUE(batch.links);
      EXPECT_EQ(batch.links->source_type, turn.source);
      EXPECT_EQ(batch.links->destination_type, turn.destination);
      EXPECT_EQ(batch.links->negative_sources.size(), 2 * centers.size());
      const auto links = *testing::plain(batch, cut).links;
      ASSERT_GT(centers.size(), 10U);
      EXPECT_EQ(links.sources, centers);
      EXPECT_EQ(links.destinations, contexts);
    }
  }
}

}  // namespace
}  // namespace troupe
