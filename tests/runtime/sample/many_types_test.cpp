// Graphs with many edge types, of which a node has edges of few: an index finds its lists, replies and
// batches name only the nodes that have edges. All of it must be as if every list had been looked at.
#include "runtime/graph/list_index.hpp"
#include "tests/runtime/sample/drive_links.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <numeric>
#include <random>
#include <string>
#include <utility>

namespace troupe {
namespace {

using testing::Arrival;
using testing::CutGraph;
using testing::ReferenceSampler;
using testing::TestGraph;

constexpr BatchKey many_key{.epoch = 2, .number = 5};

/// Three node types: 24 edge types end at `a` and 20 at `b`, from all of them, two at `c`. Every fifth has
/// no edge and every seventh one; one has long lists; nodes divisible by 6 have none.
TestGraph many_types(std::uint64_t seed) {
  TestGraph graph;
  graph.nodes = {{.name = "a", .count = 40}, {.name = "b", .count = 25}, {.name = "c", .count = 9}};
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  for (std::uint16_t e = 0; e < 46; ++e) {
    const std::uint16_t destination = e < 24 ? 0 : e < 44 ? 1 : 2;
    auto& type = graph.edges.emplace_back();
    type.name = "e" + std::to_string(e);
    type.source = static_cast<std::uint16_t>(below(3));
    type.destination = destination;
    const auto edges = e % 5 == 4 ? 0 : e % 7 == 6 ? 1 : e == 3 ? 60 : 2 + below(12);
    const auto nodes = graph.nodes[destination].count;
    for (std::uint64_t i = 0; i < edges; ++i) {
      const auto node = e == 3 ? 7 + i % 3 : 1 + below(nodes / 6) * 6 + below(5);
      type.edges.push_back({below(graph.nodes[type.source].count), node});
    }
  }
  return graph;
}

/// Cut, with everything that choices may read; with the index or without.
CutGraph cut_with(const TestGraph& graph, std::uint32_t parts, EdgeDir dir, bool indexed) {
  auto cut = testing::cut_graph(graph, parts, parts == 2);
  std::vector<EdgeTypeId> weighted;  // those without an edge have no weights
  for (std::uint16_t e = 0; e < graph.edges.size(); ++e) {
    if (!graph.edges[e].weights.empty()) {
      weighted.push_back(EdgeTypeId{e});
    }
  }
  for (auto& part : cut.parts) {
    part = *with_alias_tables(*part, weighted, dir);
  }
  for (auto& part : cut.parts) {
    auto plain = std::make_shared<Part>(*part);
    for (auto& nodes : plain->nodes) {
      nodes.in_index = {};
      nodes.out_index = {};
    }
    part = indexed ? *with_list_index(plain, dir) : plain;
  }
  return cut;
}

bool has_index(const CutGraph& cut, EdgeDir dir) {
  return std::ranges::any_of(cut.parts, [dir](const auto& part) {
    return part->nodes[0].index(dir).present() && part->nodes[1].index(dir).present();
  });
}

/// Fanouts of two hops that mix all, some and none.
std::vector<std::vector<std::int32_t>> mixed_fanouts(std::size_t types) {
  std::vector<std::vector<std::int32_t>> fanout(2, std::vector<std::int32_t>(types));
  for (std::size_t e = 0; e < types; ++e) {
    fanout[0][e] = e % 9 == 8 ? 0 : e % 2 == 0 ? all_neighbours : 1;
    fanout[1][e] = e % 11 == 10 ? 0 : e % 3 == 0 ? 2 : all_neighbours;
  }
  return fanout;
}

struct ManyTypesWay {
  std::string name;
  std::function<void(SampleOptions&, TestGraph&)> change;
};

std::vector<ManyTypesWay> many_types_ways() {
  const auto kind = [](std::string_view name) { return place_of_kind(choice_kinds(), name); };
  return {
      {"uniform", [](auto&, auto&) {}},
      {"whole lists", [](auto& o, auto&) { o.fanout = {std::vector(46, all_neighbours)}; }},
      {"nothing beside the neighbors", [](auto& o, auto&) { o.edge_data = {}; }},
      {"whole lists, nothing beside them",
       [](auto& o, auto&) {
         o.fanout = {std::vector(46, all_neighbours), std::vector(46, 3)};
         o.edge_data = {};
       }},
      {"replace", [](auto& o, auto&) { o.replace = true; }},
      {"all nodes so far", [](auto& o, auto&) { o.frontier = Frontier::all; }},
      {"disjoint", [](auto& o, auto&) { o.disjoint = true; }},
      {"disjoint, all",
       [](auto& o, auto&) {
         o.disjoint = true;
         o.frontier = Frontier::all;
       }},
      {"induced", [](auto& o, auto&) { o.subgraph = Subgraph::induced; }},
      {"disjoint, induced",
       [](auto& o, auto&) {
         o.subgraph = Subgraph::induced;
         o.disjoint = true;
       }},
      {"bidirectional",
       [](auto& o, auto&) {
         o.subgraph = Subgraph::bidirectional;
         o.edge_data = {.edge_ids = true};
         o.reverse_of.assign(46, std::nullopt);
       }},
      {"weighted",
       [kind](auto& o, auto& graph) {
         o.choice = kind("weighted");
         std::ranges::for_each(graph.edges, testing::add_weights);
         o.edge_data.weights = true;
       }},
      {"times",
       [](auto& o, auto& graph) {
         o.disjoint = true;
         o.time = TimeRule{.inclusive = true};
         o.seed_time = std::int64_t{1} << 35;
         o.edge_data.times = true;
         for (std::size_t e = 0; e < graph.edges.size(); e += 2) {
           testing::add_times(graph.edges[e]);
         }
       }},
      {"last",
       [kind](auto& o, auto& graph) {
         o.choice = kind("last");
         o.disjoint = true;
         o.time = TimeRule{};
         o.seed_time = std::int64_t{1} << 36;
         std::ranges::for_each(graph.edges, testing::add_times);
       }},
  };
}

TEST(ManyTypes, BatchesAgreeWithAnObviousSampler) {
  const std::vector<std::uint64_t> seeds = {1, 8, 33, 1, 12, 39, 7};
  for (const auto& [name, change] : many_types_ways()) {
    for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
      auto graph = many_types(name.size());
      SampleOptions options;
      options.fanout = mixed_fanouts(graph.edges.size());
      options.dir = dir;
      options.job_seed = 4;
      options.edge_data.edge_ids = true;
      change(options, graph);
      const auto expected = ReferenceSampler(graph, options, many_key).sample(seeds);
      for (const std::uint32_t parts : {1U, 2U, 3U}) {
        const auto cut = cut_with(graph, parts, dir, true);
        EXPECT_EQ(testing::drive_plain(cut, options, many_key, seeds, 0, Arrival::shuffled),
                  expected)
            << name << ", parts " << parts << ", dir " << static_cast<int>(dir);
      }
      EXPECT_EQ(testing::drive_plain(cut_with(graph, 2, dir, false), options, many_key, seeds),
                expected)
          << name << " without an index, dir " << static_cast<int>(dir);
      options.max_edges_per_reply = 9;
      EXPECT_EQ(testing::drive_plain(cut_with(graph, 2, dir, true), options, many_key, seeds),
                expected)
          << name << " in replies of 9 edges, dir " << static_cast<int>(dir);
    }
  }
}

TEST(ManyTypes, LaborDrawsTheSame) {
  const std::vector<std::uint64_t> seeds = {1, 8, 33, 12};
  const auto graph = many_types(77);
  SampleOptions options;
  options.choice = place_of_kind(choice_kinds(), "labor");
  options.fanout = {std::vector(46, 1), std::vector(46, 2)};
  for (const bool shared : {false, true}) {
    options.shared = shared;
    const auto expected = ReferenceSampler(graph, options, many_key).sample(seeds);
    for (const std::uint32_t parts : {1U, 3U}) {
      auto cut = testing::cut_graph(graph, parts);
      testing::add_neighbour_originals(cut,
                                       EdgeDir::in);  // with_list_tables() makes the index, too
      ASSERT_TRUE(has_index(cut, EdgeDir::in));
      EXPECT_EQ(testing::drive_plain(cut, options, many_key, seeds), expected) << parts;
    }
  }
}

// Links leave out their own edges along several types.
TEST(ManyTypes, ExcludedEdgesAreLeftOutOfIndexedLists) {
  auto graph = many_types(5);
  SampleOptions options;
  options.fanout = mixed_fanouts(graph.edges.size());
  options.links = LinkOptions{};
  options.links->negatives.kind = Negatives::none;
  const testing::PlainLinks links{
      .edge_type = 3,
      .links = {graph.edges[3].edges[0], graph.edges[3].edges[7], graph.edges[3].edges[8]}};
  const auto expected = testing::reference_links(graph, options, many_key, links);
  for (const std::uint32_t parts : {1U, 2U, 3U}) {
    for (const bool indexed : {true, false}) {
      const auto cut = cut_with(graph, parts, EdgeDir::in, indexed);
      EXPECT_EQ(testing::plain(testing::drive_links(cut, options, many_key, links, 1), cut),
                expected)
          << "parts " << parts << ", indexed " << indexed;
    }
  }
}

TEST(ManyTypes, BatchesKeepTheRowsWithEdgesAlone) {
  const auto graph = many_types(1);
  SampleOptions options;
  options.fanout = mixed_fanouts(graph.edges.size());
  const auto cut = cut_with(graph, 2, EdgeDir::in, true);
  ASSERT_TRUE(has_index(cut, EdgeDir::in));
  const auto batch = testing::drive(cut, options, many_key, {1, 8, 33});
  for (std::size_t e = 0; e < batch.edges.size(); ++e) {
    const auto& edges = batch.edges[e];
    ASSERT_EQ(edges.offsets.listed() != nullptr, e < 44) << "two types end at c";
    if (e < 44) {
      const auto& [rows, offsets] = *edges.offsets.listed();
      EXPECT_TRUE(std::ranges::is_sorted(rows, std::ranges::less_equal()));
      EXPECT_EQ(std::ranges::adjacent_find(offsets, std::ranges::greater_equal()), offsets.end());
      EXPECT_LE(rows.size(), edges.sources.size());
    }
    EXPECT_EQ(edges.offsets.size(), edges.row_begin.back() + 1U);
    EXPECT_EQ(edges.offsets.back(), edges.sources.size());
  }
}

HopRequest request_of_all(const CutGraph& cut) {
  HopRequest request;
  request.frontiers = {{NodeTypeId{0}, {}}};
  for (std::uint64_t i = 0; i < cut.parts[0]->nodes[0].count; ++i) {
    request.frontiers[0].nodes.push_back(static_cast<NodeId>(i));
  }
  for (std::uint16_t e = 0; e < 24; ++e) {
    request.sections.push_back({.edge_type = EdgeTypeId{e}});
  }
  return request;
}

/// Checks that parts with and without an index give the same reply. \returns entries of `counts` in each
std::pair<std::size_t, std::size_t> expect_the_same_answer(const Part& indexed, const Part& plain,
                                                           const HopRequest& request) {
  const auto some = *sample_one_hop(indexed, request);
  const auto all = *sample_one_hop(plain, request);
  EXPECT_EQ(some.sections.size(), all.sections.size());
  EXPECT_TRUE(std::ranges::equal(some.neighbours.bytes, all.neighbours.bytes));
  const auto some_views = *sections_of(some);
  const auto all_views = *sections_of(all);
  for (std::size_t i = 0; i < std::min(some_views.size(), all_views.size()); ++i) {
    EXPECT_EQ(some_views[i].nodes, all_views[i].nodes) << "section " << i;
    EXPECT_EQ(some_views[i].resume_position, all_views[i].resume_position);
    EXPECT_FALSE(all_views[i].places.has_value());
    std::vector<std::uint32_t> counts(some_views[i].nodes);
    const auto places = some_views[i].places;
    for (std::size_t k = 0; k < some_views[i].counts.size(); ++k) {
      counts[places ? (*places)[k] : k] = some_views[i].counts[k];
    }
    EXPECT_TRUE(std::ranges::equal(counts, all_views[i].counts)) << "section " << i;
  }
  return {some.counts.size(), all.counts.size()};
}

TEST(ManyTypes, RepliesListNodesWithNeighborsAndAreAsLongAsLookingGives) {
  const auto graph = many_types(3);
  const auto indexed = cut_with(graph, 1, EdgeDir::in, true);
  const auto plain = cut_with(graph, 1, EdgeDir::in, false);
  auto request = request_of_all(indexed);
  for (const std::uint64_t most_edges : {1U, 3U, 20U, 60U, 1000U}) {
    for (const std::int32_t fanout : {all_neighbours, 2}) {
      SCOPED_TRACE(fmt::format("{} edges, fanout {}", most_edges, fanout));
      request.max_edges = most_edges;
      for (auto& section : request.sections) {
        section.fanout = fanout;
      }
      const auto [some, all] = expect_the_same_answer(*indexed.parts[0], *plain.parts[0], request);
      EXPECT_LE(some, all);
      if (most_edges == 1000) {
        EXPECT_LT(4 * some, all);
      }
    }
  }
}

TEST(ManyTypes, ANodeMayBeAskedForAnyNumberOfTimes) {
  const auto graph = many_types(3);
  const auto indexed = cut_with(graph, 1, EdgeDir::in, true);
  const auto plain = cut_with(graph, 1, EdgeDir::in, false);
  auto request = request_of_all(indexed);
  request.max_edges = 1'000'000;
  const auto all = request.frontiers[0].nodes;
  for (const std::size_t times : {1U, 2U, 50U}) {
    for (const std::size_t nodes : {std::size_t{1}, std::size_t{9}, all.size()}) {
      SCOPED_TRACE(fmt::format("{} nodes, {} times", nodes, times));
      auto& asked = request.frontiers[0].nodes;
      asked.clear();
      for (std::size_t i = 0; i < nodes * times; ++i) {
        asked.push_back(all[i % nodes]);
      }
      expect_the_same_answer(*indexed.parts[0], *plain.parts[0], request);
    }
  }
}

TEST(ManyTypes, WrongRequestsAreRefusedAsWithoutAnIndex) {
  const auto cut = cut_with(many_types(3), 2, EdgeDir::in, true);
  auto request = request_of_all(cut);
  request.frontiers[0].nodes.push_back(NodeId{39});
  EXPECT_ERROR(sample_one_hop(*cut.parts[0], request), Errc::invalid_argument,
               "frontier node 39 is not in");
  request = request_of_all(cut);
  request.sections.push_back({.edge_type = EdgeTypeId{24}});
  EXPECT_ERROR(sample_one_hop(*cut.parts[0], request), Errc::invalid_argument, "lists for");
  request = request_of_all(cut);
  request.sections[3].first_position = 1000;
  EXPECT_ERROR(sample_one_hop(*cut.parts[0], request), Errc::invalid_argument, "first position");
  request = request_of_all(cut);
  request.sections[5].edge_data.times = true;
  EXPECT_ERROR(sample_one_hop(*cut.parts[0], request), Errc::failed_precondition,
               "no times stored");
}

TEST(ManyTypes, ListedPlacesThatCannotBeAreRefused) {
  const auto cut = cut_with(many_types(3), 1, EdgeDir::in, true);
  const auto request = request_of_all(cut);
  ASSERT_OK_AND_ASSIGN(const auto good, sample_one_hop(*cut.parts[0], request));
  std::size_t first = 0;  // place of edge type 3, which has lists at three nodes
  for (std::size_t e = 0; e < 3; ++e) {
    ASSERT_TRUE(good.sections[e].listed.has_value());
    first += *good.sections[e].listed;
  }
  ASSERT_EQ(good.sections[3].listed, 3U);
  const auto spoiled = [&](const std::function<void(HopReply&)>& spoil) {
    HopReply bad = good;
    spoil(bad);
    return sections_of(bad);
  };
  EXPECT_OK(spoiled([](HopReply&) {}));
  EXPECT_ERROR(spoiled([&](HopReply& r) { std::swap(r.places[first], r.places[first + 1]); }),
               Errc::data_corruption, "listed places that rise below 40");
  EXPECT_ERROR(spoiled([&](HopReply& r) { r.places[first + 1] = r.places[first]; }),
               Errc::data_corruption, "listed places that rise below 40");
  EXPECT_ERROR(spoiled([&](HopReply& r) { r.places[first + 2] = 40; }), Errc::data_corruption,
               "rise below 40, found 40");
  EXPECT_ERROR(spoiled([&](HopReply& r) { r.counts[first] = 0; }), Errc::data_corruption,
               "listed nodes with neighbors, found 0");
  EXPECT_ERROR(spoiled([&](HopReply& r) { r.places.push_back(1); }), Errc::data_corruption,
               "listed places, found");
  EXPECT_ERROR(spoiled([&](HopReply& r) { r.sections[0].listed = ~std::uint64_t{0}; }),
               Errc::data_corruption, "counts or more, found");
}

}  // namespace
}  // namespace troupe
