// Batches that have more edges than were drawn: reverse edges, or all edges among their nodes.
#include "runtime/sample/subgraph/bidirectional.hpp"
#include "tests/runtime/sample/drive.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace troupe {
namespace {

using testing::Arrival;
using testing::ReferenceSampler;
using testing::TestGraph;

constexpr BatchKey subgraph_key{.epoch = 1, .number = 9};

/// Papers that cite each other, authors who write them and are read by them; parallel edges, loops.
TestGraph subgraph_graph() {
  auto graph = testing::skewed_graph(40, 6);
  graph.nodes[0].name = "paper";
  graph.edges[0].name = "cites";
  graph.nodes.push_back({.name = "author", .count = 12});
  graph.edges.push_back({.name = "writes", .source = 1, .destination = 0});
  graph.edges.push_back({.name = "written_by", .source = 0, .destination = 1});
  for (std::uint64_t i = 0; i < 40; ++i) {
    for (std::uint64_t k = 0; k < 1 + i % 3; ++k) {
      graph.edges[1].edges.push_back({(i + 5 * k) % 12, i});
      graph.edges[2].edges.push_back({i, (i + 5 * k) % 12});
    }
  }
  return graph;
}

SampleOptions closing(Subgraph subgraph) {
  SampleOptions options;
  options.fanout = {{3, 1, 2}, {2, 2, all_neighbours}};
  options.subgraph = subgraph;
  options.reverse_of = {EdgeTypeId{0}, EdgeTypeId{2}, EdgeTypeId{1}};
  options.edge_data.edge_ids = true;
  options.job_seed = 11;
  return options;
}

TEST(SubgraphBatch, AgreesWithAnObviousSampler) {
  const auto graph = subgraph_graph();
  const std::vector<std::uint64_t> seeds = {1, 8, 39, 1, 22};
  for (const auto subgraph : {Subgraph::induced, Subgraph::bidirectional}) {
    for (const bool disjoint : {false, true}) {
      for (const auto frontier : {Frontier::fresh, Frontier::all}) {
        for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
          auto options = closing(subgraph);
          options.disjoint = disjoint;
          options.frontier = frontier;
          options.dir = dir;
          const auto expected = ReferenceSampler(graph, options, subgraph_key).sample(seeds);
          for (const std::uint32_t parts : {1U, 2U, 5U}) {
            for (const std::uint64_t most_edges : {1U, 9U, 100000U}) {
              options.max_edges_per_reply = most_edges;
              EXPECT_EQ(testing::drive_plain(testing::cut_graph(graph, parts, parts == 5), options,
                                             subgraph_key, seeds, 0, Arrival::shuffled),
                        expected)
                  << "subgraph " << static_cast<int>(subgraph) << ", parts " << parts << ", edges "
                  << most_edges << ", disjoint " << disjoint;
            }
          }
        }
      }
    }
  }
}

TEST(SubgraphBatch, InducedEdgesKeepToTheTimesOfTheirTrees) {
  auto graph = subgraph_graph();
  testing::add_times(graph.edges[0]);
  const std::vector<std::uint64_t> seeds = {1, 8, 39, 22};
  constexpr std::int64_t step = std::int64_t{1} << 33;
  const std::vector<std::int64_t> times = {4 * step, 100 * step, -2, 9 * step};
  for (const auto rule : {TimeRule{}, TimeRule{.inclusive = true, .window = 3 * step}}) {
    auto options = closing(Subgraph::induced);
    options.disjoint = true;
    options.time = rule;
    options.edge_data.times = true;
    const auto expected = ReferenceSampler(graph, options, subgraph_key).sample(seeds, 0, times);
    EXPECT_EQ(testing::drive_plain(testing::cut_graph(graph, 3), options, subgraph_key, seeds, 0,
                                   Arrival::shuffled, times),
              expected);
  }
}

TEST(SubgraphBatch, EdgeTypesThatNoHopSamplesStayEmpty) {
  const auto graph = subgraph_graph();
  auto options = closing(Subgraph::induced);
  options.fanout = {{3, 0, 0}};
  const auto batch =
      testing::drive(testing::cut_graph(graph, 2), options, subgraph_key, {1, 8, 39});
  EXPECT_FALSE(batch.edges[0].sources.empty());
  EXPECT_TRUE(batch.edges[1].sources.empty());
  EXPECT_EQ(batch.edges[1].offsets.size(), batch.nodes[0].ids.size() + 1);
  EXPECT_EQ(batch.edges[2].offsets, std::vector<std::uint32_t>{0}) << "no author is in the batch";
}

TEST(SubgraphBatch, EveryLayerWorksOnAllEdges) {
  const auto graph = testing::skewed_graph(60, 6);
  auto options = testing::fanouts({3, 2});
  options.subgraph = Subgraph::induced;
  const auto batch =
      testing::drive(testing::cut_graph(graph, 2), options, subgraph_key, {5, 17, 5});
  const auto nodes = static_cast<std::uint32_t>(batch.nodes[0].ids.size());
  for (const std::uint32_t layers : {1U, 3U, 7U}) {
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      const auto block = layer_block(batch, layer, layers);
      EXPECT_EQ(block.num_dst, layer + 1 == layers ? 2 : nodes);
      EXPECT_EQ(block.num_src, nodes);
      EXPECT_EQ(block.offsets.size(), block.num_dst + std::size_t{1});
    }
  }
}

TEST(SubgraphBatch, AReplyWithANeighborOutsideTheSetIsDamaged) {
  const auto graph = testing::skewed_graph(60, 6);
  const auto cut = testing::cut_graph(graph, 1);
  auto options = testing::fanouts({2});
  options.subgraph = Subgraph::induced;
  BatchBuilder builder(cut.info, *cut.book, std::make_shared<SampleOptions>(options), subgraph_key,
                       NodeTypeId{0}, cut.globals({5}));
  auto question = std::move(builder.questions().front());
  ASSERT_OK(builder.answer(question.id, *sample_one_hop(*cut.parts[0], question.request)));
  ASSERT_FALSE(builder.done());
  question = std::move(builder.questions().front());
  question.request.sections[0].within.reset();  // all neighbors, of which some are not in the batch
  const auto all = *sample_one_hop(*cut.parts[0], question.request);
  EXPECT_ERROR(builder.answer(question.id, all), Errc::data_corruption,
               "expected neighbors among the");
}

TEST(OneHopWithin, TakesTheEntriesThatLeadToTheSet) {
  const auto graph = testing::skewed_graph(80, 10);
  for (const bool wide : {false, true}) {
    const auto cut = testing::cut_graph(graph, 1, wide);
    HopRequest request;
    request.frontiers = {{NodeTypeId{0}, cut.globals({1, 7, 30})},
                         {NodeTypeId{0}, cut.globals({2, 3, 79, 40, 2})}};
    request.sections = {{.within = 1}};
    const auto reply = sample_one_hop(*cut.parts[0], request);
    ASSERT_OK(reply);
    request.sections = {{}};
    const auto all = sample_one_hop(*cut.parts[0], request);
    ASSERT_OK(all);
    const auto views = *sections_of(*all);
    const std::set<std::uint64_t> set = {2, 3, 79, 40};
    std::vector<std::uint64_t> expected;
    std::vector<std::uint32_t> counts(3);
    for (std::size_t node = 0, at = 0; node < 3; ++node) {
      for (std::uint32_t k = 0; k < views[0].counts[node]; ++k, ++at) {
        const auto original = cut.original(views[0].neighbours[at]);
        if (set.contains(original)) {
          expected.push_back(original);
          ++counts[node];
        }
      }
    }
    std::vector<std::uint64_t> found;
    const auto some = *sections_of(*reply);
    for (std::size_t i = 0; i < some[0].neighbours.size(); ++i) {
      found.push_back(cut.original(some[0].neighbours[i]));
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(reply->counts, counts);
    EXPECT_FALSE(expected.empty());
  }
}

// The set comes from a link: ids far apart, or no nodes at all, take no memory and end no process.
TEST(OneHopWithin, AnySetIsAnswered) {
  const auto cut = testing::cut_graph(testing::skewed_graph(80, 10), 1);
  const auto count = [&](std::vector<NodeId> set) {
    HopRequest request;
    request.frontiers = {{NodeTypeId{0}, cut.globals({1})}, {NodeTypeId{0}, std::move(set)}};
    request.sections = {{.within = 1}};
    const auto reply = sample_one_hop(*cut.parts[0], request);
    EXPECT_OK(reply);
    return reply ? reply->counts.front() : ~0U;
  };
  EXPECT_EQ(count({}), 0U);
  EXPECT_EQ(count({NodeId{~std::uint64_t{0}}, NodeId{std::uint64_t{1} << 60}}), 0U);
  const auto there = cut.global(2);
  EXPECT_EQ(count({NodeId{~std::uint64_t{0}}, there}), count({there}));
  EXPECT_GT(count({there}), 0U);
}

TEST(OneHopWithin, RequestsThatCannotBeAreRefused) {
  const auto cut = testing::cut_graph(subgraph_graph(), 1);
  const auto answer = [&](HopSection section) {
    HopRequest request;
    request.frontiers = {{NodeTypeId{0}, cut.globals({1})}, {NodeTypeId{1}, {}}};
    request.sections = {std::move(section)};
    return sample_one_hop(*cut.parts[0], request);
  };
  constexpr auto wrong = Errc::invalid_argument;
  EXPECT_ERROR(answer({.within = 2}), wrong, "needs a frontier < 2");
  EXPECT_ERROR(answer({.fanout = 3, .within = 0}), wrong, "fanout -1, got frontier 0, fanout 3");
  EXPECT_ERROR(answer({.first_position = 1, .within = 0}), wrong, "first position 1");
  EXPECT_ERROR(answer({.within = 1}), wrong, "a set of neighbors of type 0, got one of type 1");
}

}  // namespace
}  // namespace troupe
