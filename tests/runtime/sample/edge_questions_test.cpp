// Degrees of nodes and ends of edges, asked of parts: against the list of edges, and answers that cannot be.
#include "runtime/sample/edge_questions.hpp"

#include "runtime/sample/edge_lookup.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/graph_builder.hpp"

#include <algorithm>
#include <numeric>

namespace troupe {
namespace {

using testing::cut_graph;
using testing::CutGraph;
using testing::TestEdge;
using testing::TestGraph;

/// Users rate films, some twice; films have sequels. Some of each have no edges.
TestGraph rated_films() {
  TestGraph graph;
  graph.nodes = {{.name = "user", .count = 29}, {.name = "film", .count = 17}};
  graph.edges = {{.name = "rates", .source = 0, .destination = 1},
                 {.name = "sequel", .source = 1, .destination = 1},
                 {.name = "never", .source = 1, .destination = 0}};
  for (std::uint64_t user = 0; user < 25; ++user) {
    for (std::uint64_t k = 0; k < user % 7; ++k) {
      graph.edges[0].edges.push_back({user, k % 3 == 0 ? 2 : (user * 3 + 5 * k) % 15});
    }
  }
  graph.edges[1].edges = {{0, 1}, {1, 1}, {16, 0}, {0, 1}};
  return graph;
}

Result<std::vector<std::uint64_t>> degrees_of(const CutGraph& cut, const CountEdges& about,
                                              const std::vector<NodeId>& nodes) {
  const auto& type = cut.info.edge_types[raw(about.edge_type)];
  const auto node_type = type.list_type(about.out ? EdgeDir::out : EdgeDir::in);
  DegreeLookup lookup(*cut.book, node_type, about, nodes);
  for (std::size_t i = 0; i < lookup.questions().size(); ++i) {
    const auto& question = lookup.questions()[i];
    TROUPE_ASSIGN_OR_RETURN(const auto counted,
                            count_edges(*cut.parts[raw(question.part)], question.request));
    TROUPE_RETURN_IF_ERROR(lookup.answer(i, counted));
  }
  return std::move(lookup).degrees();
}

Result<EdgeNodes> ends_of_edges(const CutGraph& cut, std::uint16_t type,
                                const std::vector<EdgeId>& edges) {
  EdgeLookup lookup(*cut.book, cut.info.edge_types[type], static_cast<EdgeTypeId>(type), edges);
  for (const auto& part : cut.parts) {
    TROUPE_ASSIGN_OR_RETURN(const auto found, find_edges(*part, lookup.question()));
    TROUPE_RETURN_IF_ERROR(lookup.answer(part->id, found));
  }
  return std::move(lookup).take();
}

TEST(CountEdges, GivesTheDegreesOfTheListOfEdges) {
  const auto graph = rated_films();
  for (const std::uint32_t parts : {1U, 2U, 5U}) {
    const auto cut = cut_graph(graph, parts, parts == 5);
    for (std::uint16_t type = 0; type < 3; ++type) {
      for (const bool out : {false, true}) {
        const auto& edges = graph.edges[type];
        const auto of = out ? edges.source : edges.destination;
        std::vector<NodeId> nodes;
        std::vector<std::uint64_t> expected;
        for (std::uint64_t i = 0; i < 2 * graph.nodes[of].count; ++i) {  // each twice, not in order
          const auto node = i * 5 % graph.nodes[of].count;
          nodes.push_back(cut.global(node, of));
          expected.push_back(
              static_cast<std::uint64_t>(std::ranges::count_if(edges.edges, [&](const auto& edge) {
                return (out ? edge.source : edge.destination) == node;
              })));
        }
        ASSERT_OK_AND_ASSIGN(const auto degrees,
                             degrees_of(cut, {static_cast<EdgeTypeId>(type), out, {}}, nodes));
        EXPECT_EQ(degrees, expected) << parts << " parts, type " << type << ", out " << out;
      }
    }
    ASSERT_OK_AND_ASSIGN(const auto none, degrees_of(cut, {}, {}));
    EXPECT_TRUE(none.empty());
  }
}

TEST(CountEdges, RefusesWhatItCannotSay) {
  const auto cut = cut_graph(rated_films(), 2);
  auto part = *cut.parts[1];
  const auto first = part.nodes[1].first;
  EXPECT_OK(count_edges(part, {.nodes = {first}}));
  EXPECT_ERROR(count_edges(part, {.edge_type = EdgeTypeId{3}}), Errc::invalid_argument,
               "edges in part 1: expected an edge type below 3, got 3");
  EXPECT_ERROR(count_edges(part, {.nodes = {first, NodeId{raw(first) - 1}}}),
               Errc::invalid_argument, "is not in [");
  EXPECT_ERROR(count_edges(part, {.nodes = {NodeId{~std::uint64_t{0}}}}), Errc::invalid_argument,
               "node 18446744073709551615 is not in [");
  part.complete_for = CompleteFor::in;
  EXPECT_OK(count_edges(part, {.nodes = {first}}));
  EXPECT_ERROR(count_edges(part, {.out = true}), Errc::failed_precondition,
               "edge type 0 has no whole lists for direction out\ntry: partition the graph with "
               "--complete-for both");
  part.complete_for = CompleteFor::both;
  part.edges[0].in = {};
  EXPECT_ERROR(count_edges(part, {.nodes = {first}}), Errc::failed_precondition, "direction in");
}

TEST(FindEdges, GivesTheEndsOfTheListOfEdges) {
  const auto graph = rated_films();
  for (const std::uint32_t parts : {1U, 2U, 5U}) {
    for (const bool in_lists : {true, false}) {
      auto cut = cut_graph(graph, parts, parts == 5);
      for (auto& part : cut.parts) {
        if (!in_lists) {  // parts that are complete for out alone
          auto out_only = std::make_shared<Part>(*part);
          for (auto& edges : out_only->edges) {
            edges.in = {};
          }
          part = out_only;
        }
      }
      for (std::uint16_t type = 0; type < 3; ++type) {
        const auto& edges = graph.edges[type];
        const auto expect_ends = [&](const std::vector<EdgeId>& asked) {
          ASSERT_OK_AND_ASSIGN(const auto ends, ends_of_edges(cut, type, asked));
          ASSERT_EQ(ends.sources.size(), asked.size());
          ASSERT_EQ(ends.destinations.size(), asked.size());
          for (std::size_t i = 0; i < asked.size(); ++i) {
            const auto& edge = edges.edges[raw(asked[i])];
            EXPECT_EQ(ends.sources[i], cut.global(edge.source, edges.source));
            EXPECT_EQ(ends.destinations[i], cut.global(edge.destination, edges.destination));
          }
        };
        std::vector<EdgeId> all(edges.edges.size());
        for (std::uint64_t e = 0; e < all.size(); ++e) {
          all[e] = EdgeId{e};
        }
        expect_ends(all);
        expect_ends({});
        std::ranges::reverse(all);
        expect_ends(all);
        if (all.size() > 3) {
          expect_ends({all[3], all[0], all[3], all.back()});
          expect_ends({all.back()});
        }
      }
    }
  }
}

TEST(FindEdges, OfManyEdgesThoseThatAreAskedForAreFound) {
  std::vector<TestEdge> edges;
  for (std::uint64_t e = 0; e < 5000; ++e) {
    edges.push_back({e * 31 % 211, e * e % 211});
  }
  const auto cut = cut_graph(testing::plain_graph(211, edges), 3);
  for (const std::uint64_t step : {1U, 2U, 3U, 7U, 64U, 1000U, 4999U}) {
    FindEdges request;
    std::uint64_t there = 0;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      request.edges.push_back(EdgeId{17 + i * step});
      there += 17 + i * step < edges.size() ? 1U : 0U;
    }
    std::vector<std::uint64_t> places;
    for (const auto& part : cut.parts) {
      ASSERT_OK_AND_ASSIGN(const auto found, find_edges(*part, request));
      for (std::size_t i = 0; i < found.places.size(); ++i) {
        const auto& edge = edges[17 + found.places[i] * step];
        EXPECT_EQ(found.sources[i], cut.global(edge.source));
        EXPECT_EQ(found.destinations[i], cut.global(edge.destination));
      }
      places.insert(places.end(), found.places.begin(), found.places.end());
    }
    std::ranges::sort(places);
    std::vector<std::uint64_t> expected(there);
    std::iota(expected.begin(), expected.end(), std::uint64_t{0});
    EXPECT_EQ(places, expected) << "every " << step;
  }
}

TEST(FindEdges, AnEdgeThatWasLeftOutIsNamed) {
  const auto cut = cut_graph(rated_films(), 3);
  const std::vector<EdgeId> edges{EdgeId{1}, EdgeId{4}, EdgeId{2}};
  EXPECT_ERROR(ends_of_edges(cut, 1, edges), Errc::not_found,
               "edges: edge 4 of type sequel is not in the graph");
}

TEST(FindEdges, RefusesWhatItCannotSay) {
  const auto cut = cut_graph(rated_films(), 2);
  auto part = *cut.parts[0];
  const auto code = Errc::invalid_argument;
  const auto ids = [](std::initializer_list<std::uint64_t> numbers) {
    FindEdges request;
    for (const auto number : numbers) {
      request.edges.push_back(EdgeId{number});
    }
    return request;
  };
  EXPECT_ERROR(find_edges(part, {.edge_type = EdgeTypeId{9}}), code, "an edge type below 3, got 9");
  EXPECT_ERROR(find_edges(part, ids({1, 1})), code, "edges that ascend to below 2^64 - 1, got 2");
  EXPECT_ERROR(find_edges(part, ids({2, 1})), code, "got 2 from 2 to 1");
  EXPECT_ERROR(find_edges(part, ids({0, ~std::uint64_t{0}})), code, "edges that ascend");
  EXPECT_ERROR(find_edges(part, ids({~std::uint64_t{0}})), code, "edges that ascend");
  ASSERT_OK_AND_ASSIGN(const auto none, find_edges(part, ids({900, ~std::uint64_t{0} - 1})));
  EXPECT_TRUE(none.places.empty());
  ASSERT_OK_AND_ASSIGN(const auto nothing, find_edges(part, {}));
  EXPECT_TRUE(nothing.places.empty());
  part.edges[0].in.edge_ids = {};
  EXPECT_ERROR(find_edges(part, ids({1})), Errc::failed_precondition,
               "edge type 0 has no original edge ids\ntry: import and partition the graph again");
}

TEST(DegreeLookup, TakesOneAnswerPerNode) {
  const auto cut = cut_graph(rated_films(), 1);
  const std::vector<NodeId> nodes{NodeId{3}, NodeId{3}};
  DegreeLookup lookup(*cut.book, NodeTypeId{1}, {}, nodes);
  ASSERT_EQ(lookup.questions().size(), 1U);
  EXPECT_ERROR(lookup.answer(0, {{1}}), Errc::data_corruption,
               "edges, part 0: expected 2 degrees, got 1");
  EXPECT_ERROR(lookup.answer(0, {{1, 2, 3}}), Errc::data_corruption, "got 3");
  EXPECT_OK(lookup.answer(0, {{1, 2}}));
}

TEST(EdgeLookup, TakesNothingThatCannotBe) {
  const auto cut = cut_graph(rated_films(), 2);
  const std::vector<EdgeId> edges{EdgeId{5}, EdgeId{7}, EdgeId{5}};
  EdgeLookup lookup(*cut.book, cut.info.edge_types[0], EdgeTypeId{0}, edges);
  EXPECT_EQ(lookup.question().edges, (std::vector<EdgeId>{EdgeId{5}, EdgeId{7}}));
  const auto refused = [&](const EdgesFound& found, const std::string& what) {
    EXPECT_ERROR(lookup.answer(PartId{1}, found), Errc::data_corruption, "edges, part 1: " + what);
  };
  refused({{0}, {}, {NodeId{1}}}, "expected 1 sources and destinations, got 0 and 1");
  refused({{}, {NodeId{1}}, {NodeId{1}}}, "expected 0 sources and destinations, got 1 and 1");
  refused({{2}, {NodeId{1}}, {NodeId{1}}}, "expected each of 2 edges once, got number 2");
  refused({{~std::uint64_t{0}}, {NodeId{1}}, {NodeId{1}}}, "expected each of 2 edges once");
  refused({{0}, {NodeId{29}}, {NodeId{1}}}, "expected ids below 29 and 17, got 29 and 1");
  refused({{0}, {NodeId{1}}, {NodeId{17}}}, "expected ids below 29 and 17, got 1 and 17");
  EXPECT_OK(lookup.answer(PartId{1}, {{1}, {NodeId{28}}, {NodeId{16}}}));
  refused({{1}, {NodeId{1}}, {NodeId{1}}}, "expected each of 2 edges once, got number 1");
  EXPECT_OK(lookup.answer(PartId{0}, {{0}, {NodeId{2}}, {NodeId{3}}}));
  ASSERT_OK_AND_ASSIGN(const auto ends, std::move(lookup).take());
  EXPECT_EQ(ends.sources, (std::vector<NodeId>{NodeId{2}, NodeId{28}, NodeId{2}}));
  EXPECT_EQ(ends.destinations, (std::vector<NodeId>{NodeId{3}, NodeId{16}, NodeId{3}}));
}

}  // namespace
}  // namespace troupe
