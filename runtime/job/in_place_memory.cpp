#include "runtime/job/in_place_memory.hpp"

#include "runtime/base/saturating.hpp"

#include <algorithm>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint64_t ids_of_4_bytes = std::uint64_t{1} << 32;

bool lie_as_float32(const NodeTypeInfo& type, Normalize normalize, std::uint64_t parts) {
  return parts == 1 && normalize == Normalize::none && type.features &&
         type.features->dtype == DType::f32;
}

bool ids_fit(const GraphInfo& graph) {
  return std::ranges::all_of(graph.node_types,
                             [](const auto& type) { return type.count < ids_of_4_bytes; }) &&
         std::ranges::all_of(graph.edge_types,
                             [](const auto& type) { return type.count < ids_of_4_bytes; });
}

std::uint64_t bytes_of(std::uint64_t rows, std::uint64_t cols) {
  return times(times(rows, cols), sizeof(float));
}

std::uint64_t products(const nn::Network& network, const GraphInfo& graph,
                       const nn::InferStage& stage, std::uint32_t number) {
  std::uint64_t bytes = 0;
  for (const auto& output : stage.outputs) {
    for (const auto e : output.edges) {
      const auto source = network.options().types.edges[raw(e)].source;
      bytes = plus(bytes, bytes_of(graph.node_types[raw(source)].count,
                                   network.source_product_cols(number, e)));
    }
  }
  return bytes;
}

}  // namespace

std::optional<std::uint64_t> in_place_bytes(const nn::Network& network, const GraphInfo& graph,
                                            Normalize normalize, std::uint64_t parts) {
  if (!network.reads_in_place() || !ids_fit(graph)) {
    return std::nullopt;
  }
  const auto stages = network.infer_stages();
  std::vector<std::uint64_t> nodes;
  std::uint64_t features = 0;
  bool decodes = false;
  for (std::size_t t = 0; t < graph.node_types.size(); ++t) {
    const auto& type = graph.node_types[t];
    nodes.push_back(type.count);
    const auto cols = stages.front().in_cols[t];
    if (cols > 0 && !lie_as_float32(type, normalize, parts)) {
      decodes = true;
      features = plus(features, bytes_of(type.count, cols));
    }
  }
  if (decodes && !nn::features_fit(stages, nodes)) {
    return std::nullopt;
  }
  std::uint64_t most = 0;
  std::uint64_t widest = 0;
  for (std::uint32_t number = 0; number < stages.size(); ++number) {
    const auto& stage = stages[number];
    most =
        std::max(most, plus(number == 0 ? features : 0, products(network, graph, stage, number)));
    for (const auto& output : stage.outputs) {
      widest = std::max({widest, output.cols, *std::ranges::max_element(stage.in_cols)});
    }
  }
  // Two blocks, each with rows before and after their products.
  const auto block = std::max(nn::infer_block_bytes, bytes_of(8, widest));
  return plus(most, times(4, block));
}

}  // namespace troupe
