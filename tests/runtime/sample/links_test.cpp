// Batches of links: against the slow twin, negatives, and that no excluded edge is drawn.
#include "runtime/sample/links/list_search.hpp"
#include "tests/runtime/sample/drive_links.hpp"
#include "tests/support/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <random>

namespace troupe {
namespace {

using testing::PlainLinks;
using testing::TestEdge;
using testing::TestGraph;

constexpr BatchKey link_key{.epoch = 2, .number = 11};

/// Users, and items that they buy, with the edges back, items that go with items in both directions,
/// and parallel edges.
TestGraph shop_graph() {
  TestGraph graph;
  graph.nodes = {{.name = "user", .count = 23}, {.name = "item", .count = 37}};
  graph.edges = {{.name = "buys", .source = 0, .destination = 1},
                 {.name = "bought_by", .source = 1, .destination = 0},
                 {.name = "goes_with", .source = 1, .destination = 1}};
  for (std::uint64_t user = 0; user < 23; ++user) {
    for (std::uint64_t k = 0; k < 1 + user % 8; ++k) {
      const std::uint64_t item = k % 3 == 0 ? 0 : (user * user + 5 * k) % 37;
      graph.edges[0].edges.push_back({user, item});
      graph.edges[1].edges.push_back({item, user});
    }
  }
  for (std::uint64_t item = 0; item < 37; ++item) {
    for (const auto other : {(item * 5 + 1) % 37, (item * item) % 37}) {
      graph.edges[2].edges.push_back({item, other});
      graph.edges[2].edges.push_back({other, item});
    }
  }
  for (auto& type : graph.edges) {
    testing::add_weights(type);
  }
  return graph;
}

SampleOptions link_options(Negatives kind, bool strict = false) {
  SampleOptions options;
  options.fanout = {{3, 2, 2}, {2, all_neighbours, 1}};
  options.edge_data = {.edge_ids = true};
  options.job_seed = 42;
  options.links =
      LinkOptions{.negatives = {.kind = kind, .per_positive = 3, .strict = strict, .tries = 3},
                  .reverse = EdgeTypeId{1}};
  return options;
}

PlainLinks bought() {
  return {.edge_type = 0, .links = {{7, 0}, {7, 0}, {15, 0}, {22, 36}, {7, 17}, {0, 0}, {6, 4}}};
}

void expect_twins(const TestGraph& graph, SampleOptions options, const PlainLinks& links,
                  const std::string& what) {
  const auto expected = testing::reference_links(graph, options, link_key, links);
  for (const std::uint32_t parts : {1U, 2U, 5U}) {
    auto cut = cut_graph(graph, parts);
    if (choice_kinds()[options.choice].needs_weights) {
      testing::add_alias_tables(cut, options.dir);
    }
    for (const std::uint32_t here : {0U, 1U, parts}) {
      for (const std::uint64_t most_edges : {1U, 3U, 1000U}) {
        options.max_edges_per_reply = most_edges;
        EXPECT_EQ(testing::plain(testing::drive_links(cut, options, link_key, links, here), cut),
                  expected)
            << what << ", parts " << parts << ", here " << here << ", " << most_edges << " edges";
      }
    }
  }
}

TEST(LinkBatch, AgreesWithAnObviousSampler) {
  const auto graph = shop_graph();
  for (const auto kind : {Negatives::none, Negatives::binary, Negatives::triplet}) {
    for (const bool strict : {false, true}) {
      for (const auto frontier : {Frontier::fresh, Frontier::all}) {
        auto options = link_options(kind, strict);
        options.frontier = frontier;
        options.dir = strict ? EdgeDir::out : EdgeDir::in;
        expect_twins(graph, options, bought(), fmt::format("kind {}", static_cast<int>(kind)));
      }
    }
  }
}

TEST(LinkBatch, AgreesWithAnObviousSamplerForEveryChoice) {
  const auto graph = shop_graph();
  for (const auto* choice : {"uniform", "weighted"}) {
    for (const bool replace : {false, true}) {
      for (const bool disjoint : {false, true}) {
        auto options = link_options(Negatives::binary, true);
        options.choice = place_of_kind(choice_kinds(), choice);
        options.replace = replace;
        options.disjoint = disjoint;
        expect_twins(graph, options, bought(), choice);
      }
    }
  }
}

TEST(LinkBatch, AgreesWithAnObviousSamplerAmongTimes) {
  auto graph = shop_graph();
  testing::add_times(graph.edges[0]);
  testing::add_times(graph.edges[1]);
  constexpr std::int64_t step = std::int64_t{1} << 33;
  auto links = bought();
  links.times = {4 * step, 100 * step, 9 * step, -2, 0, 6 * step, 7 * step};
  for (const auto* choice : {"uniform", "last", "weighted"}) {
    auto options = link_options(Negatives::triplet);
    options.choice = place_of_kind(choice_kinds(), choice);
    options.fanout = {{3, 2, 0}, {all_neighbours, 1, 0}};
    options.disjoint = true;
    options.time = TimeRule{.inclusive = true, .window = 8 * step};
    expect_twins(graph, options, links, choice);
  }
}

TEST(LinkBatch, AgreesWithAnObviousSamplerByDegree) {
  const auto graph = shop_graph();
  for (const auto kind : {Negatives::binary, Negatives::triplet}) {
    for (const bool strict : {false, true}) {
      auto options = link_options(kind, strict);
      options.links->negatives.by_degree = true;
      expect_twins(graph, options, bought(), "by degree");
    }
  }
  auto options = link_options(Negatives::binary, true);
  options.links->negatives.by_degree = true;
  options.links->reverse = EdgeTypeId{2};
  expect_twins(graph, options, {.edge_type = 2, .links = {{0, 1}, {4, 16}, {30, 2}}},
               "by degree within items");
}

TEST(LinkBatch, AgreesWithAnObviousSamplerWhereBatchesHaveMoreEdges) {
  const auto graph = shop_graph();
  for (const auto subgraph : {Subgraph::induced, Subgraph::bidirectional}) {
    for (const bool disjoint : {false, true}) {
      auto options = link_options(Negatives::binary, true);
      options.subgraph = subgraph;
      options.reverse_of = {EdgeTypeId{1}, EdgeTypeId{0}, EdgeTypeId{2}};
      options.edge_data.edge_ids = true;
      options.disjoint = disjoint;
      expect_twins(graph, options, bought(), "more edges");
    }
  }
}

// Links of one node type: their own type leads back.
TEST(LinkBatch, OfOneNodeTypeLeavesOutBothDirections) {
  TestGraph graph = shop_graph();
  auto options = link_options(Negatives::binary, true);
  options.links->reverse = EdgeTypeId{2};
  const PlainLinks links{.edge_type = 2, .links = {{0, 1}, {1, 0}, {4, 16}, {5, 5}, {30, 2}}};
  expect_twins(graph, options, links, "within items");
}

/// Of links of several edge types each batch leaves out those of its own type, and their reverses.
TEST(LinkBatch, OfSeveralTypesLeavesOutTheReversesOfItsOwn) {
  const auto graph = shop_graph();
  const auto cut = cut_graph(graph, 3);
  const PlainLinks within{.edge_type = 2, .links = {{0, 1}, {4, 16}, {30, 2}}};
  auto several = link_options(Negatives::binary);
  several.links->reverse = {};
  several.links->reverses = {{EdgeTypeId{0}, EdgeTypeId{1}}, {EdgeTypeId{2}, EdgeTypeId{2}}};
  for (const auto& [links, reverse] :
       {std::pair{bought(), EdgeTypeId{1}}, std::pair{within, EdgeTypeId{2}}}) {
    auto alone = link_options(Negatives::binary);
    alone.links->reverse = reverse;
    const auto expected = testing::reference_links(graph, alone, link_key, links);
    EXPECT_EQ(testing::plain(testing::drive_links(cut, several, link_key, links), cut), expected);
    several.links->exclude = false;
    EXPECT_NE(testing::plain(testing::drive_links(cut, several, link_key, links), cut), expected);
    several.links->exclude = true;
  }
  several.links->reverses[EdgeTypeId{2}] = std::nullopt;
  EXPECT_EQ(several.links->reverse_of(EdgeTypeId{2}), std::nullopt);
}

TEST(LinkBatch, WithoutLinksIsEmpty) {
  const auto cut = cut_graph(shop_graph(), 2);
  const auto batch = testing::drive_links(cut, link_options(Negatives::binary, true), link_key, {});
  ASSERT_TRUE(batch.links);
  EXPECT_TRUE(batch.links->sources.empty());
  EXPECT_EQ(batch.num_nodes(), 0U);
}

TEST(LinkBatch, ExcludesNothingWhereNotAskedTo) {
  const auto graph = shop_graph();
  auto options = link_options(Negatives::none);
  options.links->exclude = false;
  expect_twins(graph, options, bought(), "nothing excluded");
}

/// A hub with a million edges, from 99 neighbors: 10,000 parallel edges or more from each.
TEST(LinkBatch, NoExcludedEdgeOfAHubIsDrawn) {
  std::vector<TestEdge> edges;
  for (std::uint64_t e = 0; e < 1'000'000; ++e) {
    edges.push_back({1 + e % 99, 0});
  }
  const auto graph = testing::plain_graph(100, std::move(edges));
  for (const std::uint32_t parts : {1U, 2U}) {
    const auto cut = cut_graph(graph, parts);
    PlainLinks links;
    for (std::uint64_t source = 1; source < 99; ++source) {  // all but 99
      links.links.push_back({source, 0});
    }
    for (const std::int32_t fanout : {15, 100, all_neighbours}) {
      SampleOptions options = testing::fanouts({fanout});
      options.links = LinkOptions{};
      const auto batch = testing::drive_links(cut, options, link_key, links);
      const auto row = batch.links->destinations.front();
      const auto& of_hub = batch.edges[0];
      ASSERT_GT(of_hub.offsets.size(), row + 1);
      const auto drawn = of_hub.offsets[row + 1] - of_hub.offsets[row];
      EXPECT_EQ(drawn, fanout < 0 ? 10'101U : static_cast<std::uint32_t>(fanout)) << "full fanout";
      for (auto at = of_hub.offsets[row]; at < of_hub.offsets[row + 1]; ++at) {
        EXPECT_EQ(cut.original(batch.nodes[0].ids[of_hub.sources[at]]), 99U);
      }
    }
  }
}

void expect_uniform(const std::vector<double>& p_values) {
  EXPECT_GT(*std::ranges::min_element(p_values), 1e-6);
  EXPECT_GT(testing::kolmogorov_smirnov_p_value(p_values), 1e-3);
}

// Of 12 neighbors two are excluded: a fanout of 3 takes each of the others as often.
TEST(LinkBatch, WhatIsNotExcludedIsEquallyLikely) {
  std::vector<TestEdge> list;
  for (std::uint64_t e = 0; e < 12; ++e) {
    list.push_back({1 + e, 0});
  }
  const auto cut = cut_graph(testing::plain_graph(13, std::move(list)), 1);
  std::vector<double> p_values;
  for (std::uint32_t trial = 0; trial < 100; ++trial) {
    std::vector<std::uint64_t> counts(10);
    for (std::uint64_t number = 0; number < 300; ++number) {
      SampleOptions options = testing::fanouts({3});
      options.links = LinkOptions{};
      const auto batch = testing::drive_links(cut, options, {.epoch = trial, .number = number},
                                              {.links = {{1, 0}, {8, 0}}});
      const auto row = batch.links->destinations.front();
      for (auto at = batch.edges[0].offsets[row]; at < batch.edges[0].offsets[row + 1]; ++at) {
        const auto neighbor = cut.original(batch.nodes[0].ids[batch.edges[0].sources[at]]);
        ASSERT_NE(neighbor, 1U);
        ASSERT_NE(neighbor, 8U);
        ++counts[neighbor - (neighbor > 8 ? 3 : 2)];
      }
    }
    p_values.push_back(testing::inclusion_p_value(counts, 3, 300));
  }
  expect_uniform(p_values);
}

TEST(LinkNegatives, AreUniformOverAllNodesWhateverTheParts) {
  const auto graph = shop_graph();
  std::vector<double> p_values;
  const auto cut = cut_graph(graph, 3);
  for (std::uint32_t trial = 0; trial < 100; ++trial) {
    std::vector<std::uint64_t> counts(37);
    auto options = link_options(Negatives::triplet);
    options.fanout = {};
    options.links->negatives.per_positive = 20;
    const PlainLinks links{.edge_type = 0, .links = std::vector<TestEdge>(40, {1, 0})};
    const auto batch = testing::plain(
        testing::drive_links(cut, options, {.epoch = trial, .number = 5}, links), cut);
    for (const auto drawn : batch.links->negative_destinations) {
      ++counts[drawn];
    }
    p_values.push_back(testing::uniform_p_value(counts));
  }
  expect_uniform(p_values);
}

TEST(LinkNegatives, ByDegreeAreAsLikelyAsTheirEdgesAreMany) {
  const auto graph = shop_graph();
  const auto ends = testing::ends_in_order(graph.edges[0], /*of_source=*/false);
  std::vector<double> p_values;
  const auto cut = cut_graph(graph, 3);
  for (std::uint32_t trial = 0; trial < 100; ++trial) {
    std::vector<double> counts(graph.nodes[graph.edges[0].destination].count);
    auto options = link_options(Negatives::triplet);
    options.fanout = {};
    options.links->negatives.per_positive = 20;
    options.links->negatives.by_degree = true;
    const PlainLinks links{.edge_type = 0, .links = std::vector<TestEdge>(100, {1, 0})};
    const auto batch = testing::plain(
        testing::drive_links(cut, options, {.epoch = trial, .number = 5}, links), cut);
    for (const auto drawn : batch.links->negative_destinations) {
      ++counts[drawn];
    }
    double statistic = 0;
    double kinds = 0;
    for (std::size_t node = 0; node < counts.size(); ++node) {
      const auto degree = static_cast<double>(std::ranges::count(ends, node));
      const double expected = 2000 * degree / static_cast<double>(ends.size());
      if (degree == 0) {
        ASSERT_EQ(counts[node], 0) << "nodes without edges are not drawn";
      } else {
        statistic += (counts[node] - expected) * (counts[node] - expected) / expected;
        ++kinds;
      }
    }
    p_values.push_back(testing::chi_square_survival(statistic, kinds - 1));
  }
  expect_uniform(p_values);
}

TEST(FindNodesByEdge, RefusesWhatItCannotSay) {
  const auto cut = cut_graph(shop_graph(), 2);
  const auto& part = *cut.parts[1];
  FindNodes request{.node_type = part.edges[0].destination_type, .by_edge = true};
  const auto edges = part.edges[0].in_ends.back().edges_end;
  request.places = {0, edges - 1};
  EXPECT_OK(find_nodes(part, request));
  request.places = {edges};
  EXPECT_ERROR(find_nodes(part, request), Errc::invalid_argument, "expected places below");
  request.edge_type = EdgeTypeId{99};
  EXPECT_ERROR(find_nodes(part, request), Errc::invalid_argument, "an edge type below");
  request = {.node_type = part.edges[0].source_type, .places = {0}, .by_edge = true};
  EXPECT_ERROR(find_nodes(part, request), Errc::invalid_argument, "expected nodes of type");
  auto without = part;
  without.edges[0].in_ends = {};
  request.node_type = part.edges[0].destination_type;
  EXPECT_ERROR(find_nodes(without, request), Errc::failed_precondition, "are not loaded");
}

TEST(LinkNegatives, StrictOnesAreNoEdgesUnlessAllTriesAre) {
  // Node 0 has edges to 8 of 10 nodes: of 2 tries both are edges in 64 of 100 cases.
  std::vector<TestEdge> edges;
  for (std::uint64_t e = 0; e < 8; ++e) {
    edges.push_back({0, e});
  }
  const auto cut = cut_graph(testing::plain_graph(10, std::move(edges)), 2);
  SampleOptions options;
  options.fanout = {};
  options.links = LinkOptions{
      .negatives = {.kind = Negatives::triplet, .per_positive = 10, .strict = true, .tries = 2}};
  const PlainLinks links{.links = std::vector<TestEdge>(100, {0, 1})};
  const auto batch = testing::plain(testing::drive_links(cut, options, link_key, links), cut);
  const auto edges_there =
      std::ranges::count_if(batch.links->negative_destinations, [](auto end) { return end < 8; });
  EXPECT_EQ(static_cast<std::uint64_t>(edges_there), batch.links->edges_drawn);
  EXPECT_NEAR(static_cast<double>(edges_there), 640, 5 * std::sqrt(1000 * 0.64 * 0.36));
}

// ---- questions ----

TEST(ListSearch, FindsParallelEdgesInOrderedAndInTimedLists) {
  for (const bool timed : {false, true}) {
    auto graph = testing::plain_graph(9, {{3, 0}, {1, 0}, {3, 0}, {8, 0}, {0, 0}, {3, 0}});
    if (timed) {
      graph.edges[0].times = {9, 1, 2, 3, 4, 5};
    }
    for (const std::uint32_t parts : {1U, 2U, 3U}) {
      const auto cut = cut_graph(graph, parts);
      const auto owner = cut.book->owner(NodeTypeId{}, cut.global(0));
      const auto& part = *cut.parts[raw(owner)];
      const auto& lists = part.edges[0].in;
      const auto row = part.nodes[0].local(cut.global(0));
      const ListSearch search(part.nodes[0], lists);
      const auto find = [&](std::uint64_t original) {
        ListSearch::Search one{.begin = lists.offsets[row],
                               .end = lists.offsets[row + 1],
                               .node = cut.global(original)};
        search.start({&one, 1});
        std::vector<std::uint32_t> positions;
        search.add_positions(one, positions);
        EXPECT_EQ(search.found(one), !positions.empty());
        return positions;
      };
      using Positions = std::vector<std::uint32_t>;
      EXPECT_EQ(find(3), timed ? (Positions{1, 4, 5}) : (Positions{2, 3, 4}));
      EXPECT_EQ(find(0), timed ? Positions{3} : Positions{0});
      EXPECT_EQ(find(8), timed ? Positions{2} : Positions{5});
      EXPECT_EQ(find(2), Positions{});
      EXPECT_EQ(find(7), Positions{});
    }
  }
}

// All lists of a part are searched for all nodes at once, and parts of them; a plain scan says where they are.
TEST(ListSearch, ManyAtOnceFindWhatAScanFinds) {
  constexpr std::uint64_t nodes = 23;
  std::mt19937_64 random(7);
  std::vector<TestEdge> edges;
  for (int e = 0; e < 200; ++e) {
    edges.push_back({random() % nodes, random() % nodes / 2});  // half of the lists are empty
  }
  for (const bool timed : {false, true}) {
    auto graph = testing::plain_graph(nodes, edges);
    if (timed) {
      std::generate_n(std::back_inserter(graph.edges[0].times), edges.size(),
                      [&] { return static_cast<std::int64_t>(random() % 9); });
    }
    for (const std::uint32_t parts : {1U, 2U, 3U}) {
      const auto cut = cut_graph(graph, parts);
      for (const auto& part : cut.parts) {
        const auto& lists = part->edges[0].in;
        const ListSearch search(part->nodes[0], lists);
        std::vector<ListSearch::Search> searches{{}};  // one of no entries
        for (std::uint64_t row = 0; row < part->nodes[0].count; ++row) {
          for (std::uint64_t node = 0; node < nodes; ++node) {
            const auto begin = lists.offsets[row];
            const auto end = lists.offsets[row + 1];
            searches.push_back({.begin = begin, .end = end, .node = cut.global(node)});
            searches.push_back(
                {.begin = begin + (end - begin) / 2, .end = end, .node = cut.global(node)});
          }
        }
        search.start(searches);
        for (const auto& one : searches) {
          std::vector<std::uint32_t> expected;
          for (std::uint64_t at = one.begin; at < one.end; ++at) {
            if (lists.neighbours[at] == one.node) {
              expected.push_back(static_cast<std::uint32_t>(at - one.begin));
            }
          }
          std::vector<std::uint32_t> positions;
          search.add_positions(one, positions);
          ASSERT_EQ(positions, expected);
          ASSERT_EQ(search.found(one), !expected.empty());
        }
      }
    }
  }
}

TEST(GraphQuestions, RefuseWhatAPartCannotSay) {
  const auto cut = cut_graph(shop_graph(), 2);
  const auto& part = *cut.parts[0];
  const auto slice = part.nodes[0].directory.size();
  EXPECT_ERROR(find_nodes(part, {NodeTypeId{7}, {0}}), Errc::invalid_argument, "node type below 2");
  EXPECT_ERROR(find_nodes(part, {NodeTypeId{0}, {slice}}), Errc::invalid_argument,
               fmt::format("below {} of its slice", slice));
  auto without = part;
  without.nodes[0].directory = {};
  EXPECT_ERROR(find_nodes(without, {NodeTypeId{0}, {0}}), Errc::failed_precondition,
               "partition the graph again");
  EXPECT_ERROR(has_edges(part, {EdgeTypeId{3}, false, {}, {}}), Errc::invalid_argument,
               "edge type below 3");
  EXPECT_ERROR(has_edges(part, {EdgeTypeId{0}, false, {NodeId{0}}, {}}), Errc::invalid_argument,
               "as many neighbors as nodes");
  EXPECT_ERROR(has_edges(part, {EdgeTypeId{0}, false, {NodeId{~std::uint64_t{0}}}, {NodeId{0}}}),
               Errc::invalid_argument, "is not in");
  without.complete_for = CompleteFor::out;
  EXPECT_ERROR(has_edges(without, {EdgeTypeId{0}, false, {}, {}}), Errc::failed_precondition,
               "no whole lists for direction in");
}

TEST(GraphQuestions, WrongAnswersAreRefused) {
  const auto cut = cut_graph(shop_graph(), 1);
  const auto options = std::make_shared<SampleOptions>(link_options(Negatives::triplet, true));
  const auto open = [&] {
    auto positives = positives_of(cut, bought());
    const auto types = end_types(cut.info, *options->links, positives.edge_type);
    LinkSeeds seeds(cut.info, *cut.book, options, link_key, std::move(positives), types);
    EXPECT_EQ(seeds.questions().size(), 1U);
    return seeds;
  };
  const std::size_t asked = bought().links.size() * 3 * 3;
  auto seeds = open();
  EXPECT_ERROR(seeds.answer(1, NodesFound{}), Errc::invalid_argument, "question 1; 1 were asked");
  EXPECT_ERROR(seeds.answer(0, NodesFound{}), Errc::data_corruption,
               fmt::format("expected {} answers, got 0", asked));
  EXPECT_ERROR(seeds.answer(0, NodesFound{std::vector<NodeId>(asked, NodeId{37})}),
               Errc::data_corruption, "ids below 37, got 37");
  auto other = open();
  EXPECT_OK(other.answer(0, NodesFound{std::vector<NodeId>(asked, NodeId{3})}));
  EXPECT_ERROR(other.answer(0, NodesFound{}), Errc::invalid_argument, "no answer is awaited");
  EXPECT_FALSE(other.done());
  EXPECT_EQ(other.questions().size(), 1U);
  EXPECT_ERROR(other.answer(1, EdgesThere{{1}}), Errc::data_corruption, "answers, got 1");
  EXPECT_OK(other.answer(1, EdgesThere{std::vector<std::uint8_t>(asked, 1)}));
  ASSERT_TRUE(other.done());
  EXPECT_EQ(std::move(other).take().links.edges_drawn, bought().links.size() * 3);
}

TEST(Exclusions, ThatAreNotInOrderAreRefused) {
  const auto cut = cut_graph(shop_graph(), 1);
  HopRequest request{.frontiers = {{NodeTypeId{1}, cut.globals({0, 1}, 1)}},
                     .sections = {{.edge_type = EdgeTypeId{0}, .fanout = 2}}};
  auto& excluded = request.sections[0].excluded;
  excluded = {{2, NodeId{0}}};
  EXPECT_ERROR(sample_one_hop(*cut.parts[0], request), Errc::invalid_argument, "places below 2");
  for (const auto& wrong : {std::vector<ExcludedEdges>{{1, NodeId{0}}, {0, NodeId{0}}},
                            std::vector<ExcludedEdges>{{0, NodeId{3}}, {0, NodeId{3}}}}) {
    excluded = wrong;
    EXPECT_ERROR(sample_one_hop(*cut.parts[0], request), Errc::invalid_argument,
                 "in ascending order, none twice");
  }
  excluded = {{0, NodeId{~std::uint64_t{0}}}, {1, NodeId{0}}};  // of no node: nothing is left out
  EXPECT_OK(sample_one_hop(*cut.parts[0], request));
}

}  // namespace
}  // namespace troupe
