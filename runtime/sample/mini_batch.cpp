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

namespace {

/// A block without its offsets, and the rows of the batch that it takes.
struct BlockRows {
  LayerBlock block;
  std::uint32_t first_row = 0;
};

BlockRows block_rows(const SampledBatch& batch, EdgeTypeId type, std::uint32_t layer,
                     std::uint32_t layers) {
  const auto& edges = batch.edges[raw(type)];
  const auto& destinations = batch.nodes[raw(edges.destination_type)].hop_end;
  const auto& sources = batch.nodes[raw(edges.source_type)].hop_end;
  BlockRows rows;
  rows.block.sources = edges.sources;
  rows.block.weights = edges.weights;
  if (batch.subgraph != Subgraph::directional) {
    rows.block.num_dst = layer + 1 == layers ? destinations.front() : destinations.back();
    rows.block.num_src = sources.back();
    return rows;
  }
  TROUPE_ASSERT(layer < layers && layers <= batch.hops, "layer, layers, hops", layer, layers,
                batch.hops);
  const std::uint32_t hop = layers - 1 - layer;  // the last layer works on the seeds: hop 0
  rows.first_row = batch.frontier == Frontier::fresh ? 0 : edges.row_begin[hop];
  rows.block.num_dst = destinations[hop];
  rows.block.num_src = sources[hop + 1];
  return rows;
}

}  // namespace

LayerBlock edge_block(const SampledBatch& batch, EdgeTypeId type, std::uint32_t layer,
                      std::uint32_t layers) {
  auto [block, first_row] = block_rows(batch, type, layer, layers);
  const std::span<const std::uint32_t> offsets = batch.edges[raw(type)].offsets.dense();
  block.offsets = offsets.subspan(first_row, block.num_dst + std::size_t{1});
  return block;
}

LayerBlock listed_block(const SampledBatch& batch, EdgeTypeId type, std::uint32_t layer,
                        std::uint32_t layers) {
  const auto* const listed = batch.edges[raw(type)].offsets.listed();
  if (listed == nullptr) {
    return edge_block(batch, type, layer, layers);
  }
  auto [block, first_row] = block_rows(batch, type, layer, layers);
  LayerBlock::Listed some{.first_row = first_row,
                          .rows = listed->rows,
                          .offsets = listed->offsets,
                          .all = &batch.edges[raw(type)].offsets};
  const auto first = some.first_from(0);
  const auto count = some.first_from(block.num_dst) - first;
  some.rows = some.rows.subspan(first, count);
  some.offsets = some.offsets.subspan(first, count + 1);
  block.listed = some;
  return block;
}

LayerBlock with_offsets(LayerBlock block) {
  if (block.listed) {
    const std::span<const std::uint32_t> offsets = block.listed->all->dense();
    block.offsets = offsets.subspan(block.listed->first_row, block.num_dst + std::size_t{1});
    block.listed.reset();
  }
  return block;
}

}  // namespace troupe
