#include "runtime/run/inference_blocks.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// A block so far.
struct Counted {
  std::vector<std::uint64_t> rows;  ///< by node type
  std::uint64_t bytes = 0;          ///< of edges and destinations
};

void add_node(const BlockInputs& inputs, std::uint64_t node, Counted& block) {
  block.rows[raw(inputs.own)] += 1;
  block.bytes += inputs.own_bytes;
  for (const auto& along : inputs.along) {
    const auto source = raw(along.source);
    const auto degree = along.lists->degree(node);
    block.rows[source] += std::min(degree, inputs.rows[source].nodes);
    block.bytes += degree * along.bytes;
  }
}

std::uint64_t bytes_of(const BlockInputs& inputs, const Counted& block) {
  std::uint64_t bytes = block.bytes;
  for (std::size_t t = 0; t < block.rows.size(); ++t) {
    bytes += std::min(block.rows[t], inputs.rows[t].nodes) * inputs.rows[t].bytes;
  }
  return bytes;
}

/// Of no nodes.
void clear(Counted& block) {
  std::ranges::fill(block.rows, 0);
  block.bytes = 0;
}

}  // namespace

std::vector<InferenceBlock> inference_blocks(const BlockInputs& inputs, std::uint64_t nodes,
                                             std::uint64_t block_bytes) {
  std::vector<InferenceBlock> blocks;
  Counted block{.rows = std::vector<std::uint64_t>(inputs.rows.size())};
  Counted more;
  for (std::uint64_t node = 0; node < nodes; ++node) {
    more = block;
    add_node(inputs, node, more);
    if (blocks.empty() || bytes_of(inputs, more) > block_bytes) {
      blocks.push_back({node, 0});
      clear(more);
      add_node(inputs, node, more);
    }
    std::swap(block, more);
    ++blocks.back().count;
  }
  return blocks;
}

std::uint64_t largest_node_bytes(const BlockInputs& inputs, std::uint64_t nodes) {
  std::uint64_t most = 0;
  Counted block{.rows = std::vector<std::uint64_t>(inputs.rows.size())};
  for (std::uint64_t node = 0; node < nodes; ++node) {
    clear(block);
    add_node(inputs, node, block);
    most = std::max(most, bytes_of(inputs, block));
  }
  return most;
}

std::vector<std::uint64_t> owned_positions(const std::vector<NodeId>& seeds,
                                           const PartNodes& nodes) {
  std::vector<std::uint64_t> positions;
  for (std::uint64_t i = 0; i < seeds.size(); ++i) {
    if (nodes.owns(seeds[i])) {
      positions.push_back(i);
    }
  }
  return positions;
}

}  // namespace troupe
