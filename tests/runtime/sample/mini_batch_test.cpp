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
