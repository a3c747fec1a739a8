#include "runtime/nn/network_layers.hpp"

#include "tests/support/expect.hpp"

namespace troupe::nn {
namespace {

using Nodes = std::vector<NodeTypeId>;
using Edges = std::vector<EdgeTypeId>;

NodeTypeId node(std::uint16_t n) {
  return NodeTypeId{n};
}
EdgeTypeId edge(std::uint16_t e) {
  return EdgeTypeId{e};
}

/// author 0, paper 1, venue 2, term 3; writes 0 -> 1, written_by 1 -> 0, holds 2 -> 1, in 3 -> 2.
ModelTypes types() {
  return {.nodes = {{"author", 8}, {"paper", 8}, {"venue", 8}, {"term", 8}},
          .edges = {{"writes", node(0), node(1)},
                    {"written_by", node(1), node(0)},
                    {"holds", node(2), node(1)},
                    {"in", node(3), node(2)}},
          .seeds = node(0)};
}

TEST(HeterogeneousLayers, TakeOnlyWhatReachesTheSeeds) {
  ASSERT_OK_AND_ASSIGN(const auto layers, layer_types(types(), 2));

  EXPECT_EQ(layers[1].edges, (Edges{edge(1)}));
  EXPECT_EQ(layers[1].inputs, (Nodes{node(0), node(1)}));
  EXPECT_EQ(layers[1].outputs, (Nodes{node(0)}));
  EXPECT_EQ(layers[0].edges, (Edges{edge(0), edge(1), edge(2)}));
  EXPECT_EQ(layers[0].inputs, (Nodes{node(0), node(1), node(2)}));
  EXPECT_EQ(layers[0].outputs, (Nodes{node(0), node(1)}));
}

TEST(HeterogeneousLayers, ATypeThatNoEdgeTypeEndsAtHasRowsBelowTheFirstLayerOnly) {
  ASSERT_OK_AND_ASSIGN(const auto layers, layer_types(types(), 4));

  EXPECT_TRUE(layers[0].reads(node(3)));
  for (std::size_t layer = 1; layer < 4; ++layer) {
    EXPECT_FALSE(layers[layer].reads(node(3))) << layer;
  }
  // So venues have rows after the first layer, and after the second they have none.
  EXPECT_TRUE(layers[0].gives(node(2)));
  EXPECT_TRUE(layers[1].reads(node(2)));
  EXPECT_FALSE(layers[1].gives(node(2)));
  EXPECT_EQ(layers[2].edges, (Edges{edge(0), edge(1)}));
}

TEST(HeterogeneousLayers, EachLayerReadsWhatTheOneBelowGives) {
  for (const std::uint32_t count : {1U, 2U, 3U, 6U}) {
    ASSERT_OK_AND_ASSIGN(const auto layers, layer_types(types(), count));
    ASSERT_EQ(layers.size(), count);
    for (std::size_t layer = 1; layer < count; ++layer) {
      EXPECT_EQ(layers[layer].inputs, layers[layer - 1].outputs) << layer;
    }
  }
}

TEST(HeterogeneousLayers, RefuseSeedsThatNothingComesTo) {
  ModelTypes dry = types();
  dry.edges.erase(dry.edges.begin());  // papers hear from venues alone
  dry.edges.pop_back();                // and venues from nobody
  EXPECT_OK(layer_types(dry, 2));
  EXPECT_ERROR(layer_types(dry, 3), Errc::invalid_argument,
               "no edge type brings anything to \"author\" nodes in layer 3 of 3");
  dry.seeds = node(9);
  EXPECT_ERROR(layer_types(dry, 1), Errc::invalid_argument, "node type below 4, got 9");
  dry.seeds = node(0);
  dry.edges[0].source = node(7);
  EXPECT_ERROR(layer_types(dry, 1), Errc::invalid_argument, "below 4, got 7 and 0");
}

}  // namespace
}  // namespace troupe::nn
