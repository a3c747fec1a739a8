#include "runtime/sample/mini_batch.hpp"

#include "runtime/base/assert.hpp"

namespace troupe {

std::uint64_t SampledBatch::num_seeds() const {
  return links ? links->sources.size() : seed_index.size();
}

std::uint64_t SampledBatch::num_nodes() const {
  std::uint64_t sum = 0;
  for (const auto& of_type : nodes) {
    sum += of_type.ids.size();
  }
  return sum;
}

std::uint64_t SampledBatch::num_edges() const {
  std::uint64_t sum = 0;
  for (const auto& of_type : edges) {
    sum += of_type.sources.size();
  }
  return sum;
}

LayerBlock layer_block(const SampledBatch& batch, std::uint32_t layer, std::uint32_t layers) {
  TROUPE_ASSERT(batch.nodes.size() == 1 && batch.edges.size() == 1, "node and edge types",
                batch.nodes.size(), batch.edges.size());
  return edge_block(batch, EdgeTypeId{0}, layer, layers);
}

LayerBlock edge_block(const SampledBatch& batch, EdgeTypeId type, std::uint32_t layer,
                      std::uint32_t layers) {
  const auto& edges = batch.edges[raw(type)];
  if (batch.subgraph != Subgraph::directional) {
    const auto& ends = batch.nodes[raw(edges.destination_type)].hop_end;
    const std::uint32_t rows = layer + 1 == layers ? ends.front() : ends.back();
    return {.num_dst = rows,
            .num_src = batch.nodes[raw(edges.source_type)].hop_end.back(),
            .offsets = std::span(edges.offsets).first(rows + std::size_t{1}),
            .sources = edges.sources,
            .weights = edges.weights};
  }
  TROUPE_ASSERT(layer < layers && layers <= batch.hops, "layer, layers, hops", layer, layers,
                batch.hops);
  const std::uint32_t hop = layers - 1 - layer;  // the last layer works on the seeds: hop 0
  const std::uint32_t first_row = batch.frontier == Frontier::fresh ? 0 : edges.row_begin[hop];
  const std::uint32_t num_dst = batch.nodes[raw(edges.destination_type)].hop_end[hop];
  return {.num_dst = num_dst,
          .num_src = batch.nodes[raw(edges.source_type)].hop_end[hop + 1],
          .offsets = std::span(edges.offsets).subspan(first_row, num_dst + 1),
          .sources = edges.sources,
          .weights = edges.weights};
}

}  // namespace troupe
