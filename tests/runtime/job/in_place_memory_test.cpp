#include "runtime/job/in_place_memory.hpp"

#include "runtime/nn/catalog.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

GraphInfo graph_of(std::uint64_t nodes, std::uint64_t cols, DType dtype) {
  GraphInfo graph;
  auto& type = graph.node_types.emplace_back();
  type.name = "node";
  type.count = nodes;
  type.features = FeatureInfo{.dtype = dtype, .cols = cols};
  auto& edges = graph.edge_types.emplace_back();
  edges.name = "edge";
  edges.count = 10 * nodes;
  return graph;
}

std::optional<std::uint64_t> bytes_for(const GraphInfo& graph, nn::ModelOptions model,
                                       Normalize normalize = Normalize::none,
                                       std::uint64_t parts = 1) {
  model.in_dim = graph.node_types[0].features->cols;
  const auto network = nn::make_network(model);
  EXPECT_OK(network);
  return in_place_bytes(**network, graph, normalize, parts);
}

constexpr std::uint64_t blocks = 4 * nn::infer_block_bytes;
constexpr std::uint64_t nodes = 1'000'000;

TEST(InPlaceMemory, CountsFeaturesThatBecomeFloat32) {
  const nn::ModelOptions model{.hidden = 32, .out_dim = 32};
  const auto stored = graph_of(nodes, 8, DType::f32);

  EXPECT_EQ(bytes_for(stored, model), blocks);
  const auto features = nodes * 8 * 4;
  EXPECT_EQ(bytes_for(stored, model, Normalize::none, 2), blocks + features);
  EXPECT_EQ(bytes_for(stored, model, Normalize::row), blocks + features);
  EXPECT_EQ(bytes_for(graph_of(nodes, 8, DType::f16), model), blocks + features);
}

TEST(InPlaceMemory, CountsProductsOfSources) {
  const auto graph = graph_of(nodes, 8, DType::f32);

  EXPECT_EQ(bytes_for(graph, {.hidden = 32, .out_dim = 5}), blocks + nodes * 5 * 4);
  EXPECT_EQ(bytes_for(graph, {.hidden = 6, .out_dim = 5}), blocks + nodes * 6 * 4)
      << "the larger one: those of a layer are gone in the next";
}

TEST(InPlaceMemory, KnowsWhatGoesBySampledBlocks) {
  const nn::ModelOptions model{.hidden = 4, .out_dim = 4};

  EXPECT_FALSE(bytes_for(graph_of(nodes, 9, DType::u8), model)) << "9 columns, 4 + 4 of outputs";
  EXPECT_TRUE(bytes_for(graph_of(nodes, 9, DType::f32), model)) << "they lie as they are read";
  EXPECT_FALSE(bytes_for(graph_of(std::uint64_t{1} << 32, 8, DType::f32), model));
  EXPECT_FALSE(
      bytes_for(graph_of(nodes, 8, DType::f32), {.kind = "gcn", .hidden = 4, .out_dim = 4}));
}

}  // namespace
}  // namespace troupe
