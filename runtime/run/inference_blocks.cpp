#include "runtime/run/inference_blocks.hpp"

#include <algorithm>

namespace troupe {

namespace {

using Counts = std::vector<std::uint64_t>;

void add_node(const BlockInputs& inputs, std::uint64_t node, Counts& rows) {
  rows[raw(inputs.own)] += 1;
  for (const auto& along : inputs.along) {
    const auto source = raw(along.source);
    rows[source] += std::min(along.lists->degree(node), inputs.rows[source].nodes);
  }
}

std::uint64_t bytes_of(const BlockInputs& inputs, const Counts& rows) {
  std::uint64_t bytes = 0;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    bytes += std::min(rows[t], inputs.rows[t].nodes) * inputs.rows[t].bytes;
  }
  return bytes;
}

}  // namespace

std::vector<InferenceBlock> inference_blocks(const BlockInputs& inputs, std::uint64_t nodes,
                                             std::uint64_t block_bytes) {
  std::vector<InferenceBlock> blocks;
  Counts rows(inputs.rows.size());
  Counts more;
  for (std::uint64_t node = 0; node < nodes; ++node) {
    more = rows;
    add_node(inputs, node, more);
    if (blocks.empty() || bytes_of(inputs, more) > block_bytes) {
      blocks.push_back({node, 0});
      std::ranges::fill(more, 0);
      add_node(inputs, node, more);
    }
    rows.swap(more);
    ++blocks.back().count;
  }
  return blocks;
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
