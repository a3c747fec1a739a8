#include "runtime/sample/mini_batch.hpp"

#include "tests/runtime/sample/drive.hpp"

namespace troupe {
namespace {

using testing::fanouts;

SampledBatch sampled(Frontier frontier) {
  auto options = fanouts({3, 2, 2});
  options.frontier = frontier;
  return testing::drive(testing::cut_graph(testing::skewed_graph(80, 5), 2), options, {},
                        {1, 2, 3});
}

TEST(LayerBlock, FreshFrontierNestsAllHopsALayerNeeds) {
  const auto batch = sampled(Frontier::fresh);
  const auto& ends = batch.nodes[0].hop_end;
  for (std::uint32_t layer = 0; layer < 3; ++layer) {
    const LayerBlock block = layer_block(batch, layer, 3);

    EXPECT_EQ(block.num_dst, ends[2 - layer]);
    EXPECT_EQ(block.num_src, ends[3 - layer]);
    ASSERT_EQ(block.offsets.size(), block.num_dst + 1);
    EXPECT_EQ(block.offsets.front(), 0U);
    EXPECT_EQ(block.offsets.back(), batch.edges[0].offsets[batch.edges[0].row_begin[3 - layer]]);
  }
}

TEST(LayerBlock, FullFrontierGivesOneHopPerLayer) {
  const auto batch = sampled(Frontier::all);
  const auto& edges = batch.edges[0];
  for (std::uint32_t layer = 0; layer < 3; ++layer) {
    const std::uint32_t hop = 2 - layer;
    const LayerBlock block = layer_block(batch, layer, 3);

    EXPECT_EQ(block.num_dst, edges.row_begin[hop + 1] - edges.row_begin[hop]);
    EXPECT_EQ(block.num_dst, batch.nodes[0].hop_end[hop]);
    EXPECT_EQ(block.offsets.data(), edges.offsets.data() + edges.row_begin[hop]);
    ASSERT_EQ(block.offsets.size(), block.num_dst + 1);
  }
}

TEST(LayerBlock, SourcesOfEveryBlockAreItsOwnRows) {
  for (const auto frontier : {Frontier::fresh, Frontier::all}) {
    const auto batch = sampled(frontier);
    for (std::uint32_t layer = 0; layer < 3; ++layer) {
      const LayerBlock block = layer_block(batch, layer, 3);
      for (std::uint32_t k = block.offsets.front(); k < block.offsets.back(); ++k) {
        EXPECT_LT(block.sources[k], block.num_src);
      }
    }
  }
}

TEST(LayerBlock, AModelWithFewerLayersThanHopsUsesTheFirstHops) {
  const auto batch = sampled(Frontier::fresh);

  const LayerBlock block = layer_block(batch, 0, 1);

  EXPECT_EQ(block.num_dst, 3U);
  EXPECT_EQ(block.num_src, batch.nodes[0].hop_end[1]);
}

/// 30 papers and 10 authors, who write several of them each.
testing::TestGraph mini_graph() {
  testing::TestGraph graph;
  graph.nodes = {{.name = "paper", .count = 30}, {.name = "author", .count = 10}};
  graph.edges = {{.name = "writes", .source = 1, .destination = 0},
                 {.name = "by", .source = 0, .destination = 1},
                 {.name = "cites", .source = 0, .destination = 0}};
  for (std::uint64_t i = 0; i < 30; ++i) {
    for (std::uint64_t k = 0; k < 3; ++k) {
      graph.edges[0].edges.push_back({(i + k * k) % 10, i});
      graph.edges[1].edges.push_back({i, (i + k * k) % 10});
      graph.edges[2].edges.push_back({(i * 7 + k) % 30, i});
    }
  }
  return graph;
}

TEST(EdgeBlock, HoldsTheDrawnEdgesOfItsTypeFromDestinationsToSources) {
  const auto graph = mini_graph();
  const auto cut = testing::cut_graph(graph, 3);
  SampleOptions options;
  options.fanout = {{2, 2, 0}, {all_neighbours, 2, 3}};  // nothing along "cites" in the first hop
  for (const auto frontier : {Frontier::fresh, Frontier::all}) {
    options.frontier = frontier;
    const auto batch = testing::drive(cut, options, {}, {4, 9});
    for (std::uint16_t type = 0; type < 3; ++type) {
      const auto destination = graph.edges[type].destination;
      const auto source = graph.edges[type].source;
      for (std::uint32_t layer = 0; layer < 2; ++layer) {
        const LayerBlock block = edge_block(batch, EdgeTypeId{type}, layer, 2);

        EXPECT_EQ(block.num_dst, batch.nodes[destination].hop_end[1 - layer]);
        EXPECT_EQ(block.num_src, batch.nodes[source].hop_end[2 - layer]);
        ASSERT_EQ(block.offsets.size(), block.num_dst + 1);
        for (std::uint32_t d = 0; d < block.num_dst; ++d) {
          for (std::uint32_t k = block.offsets[d]; k < block.offsets[d + 1]; ++k) {
            ASSERT_LT(block.sources[k], block.num_src);
            const auto from = cut.original(batch.nodes[source].ids[block.sources[k]], source);
            const auto to = cut.original(batch.nodes[destination].ids[d], destination);
            EXPECT_TRUE(std::ranges::any_of(
                graph.edges[type].edges,
                [&](const auto& edge) { return edge.source == from && edge.destination == to; }))
                << type << ": " << from << " to " << to;
          }
        }
      }
    }
    const LayerBlock writes = edge_block(batch, EdgeTypeId{0}, 1, 2);
    EXPECT_EQ(writes.offsets.back() - writes.offsets.front(), 4U) << "two per seed";
    const LayerBlock cites = edge_block(batch, EdgeTypeId{2}, 1, 2);
    EXPECT_EQ(cites.offsets.back(), cites.offsets.front());
  }
}

TEST(LayerBlockDeathTest, MoreLayersThanHopsAreABug) {
  const auto batch = sampled(Frontier::fresh);
  EXPECT_DEATH(layer_block(batch, 0, 4), "layer, layers, hops");
}

TEST(SampledBatch, CountsNodesAndEdges) {
  const auto batch = sampled(Frontier::fresh);
  EXPECT_EQ(batch.num_nodes(), batch.nodes[0].hop_end.back());
  EXPECT_EQ(batch.num_edges(), batch.edges[0].offsets.back());
}

TEST(BatchKey, EvaluationHasStreamsOfItsOwn) {
  EXPECT_EQ((BatchKey{.epoch = 5}.stream_epoch()), 5U);
  EXPECT_EQ((BatchKey{.purpose = Purpose::evaluate, .epoch = 5}.stream_epoch()), 0x80000005U);
}

}  // namespace
}  // namespace troupe
