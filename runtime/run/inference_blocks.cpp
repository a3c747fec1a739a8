#include "runtime/run/inference_blocks.hpp"

#include <algorithm>

namespace troupe {

std::vector<InferenceBlock> inference_blocks(const NeighbourLists& lists, std::uint64_t nodes,
                                             std::uint64_t total_nodes, std::uint64_t row_bytes,
                                             std::uint64_t block_bytes) {
  const std::uint64_t most_rows = block_bytes / std::max<std::uint64_t>(row_bytes, 1);
  std::vector<InferenceBlock> blocks;
  std::uint64_t rows = 0;
  for (std::uint64_t node = 0; node < nodes; ++node) {
    const std::uint64_t need = 1 + std::min(lists.degree(node), total_nodes);
    const bool full = std::min(rows + need, total_nodes) > most_rows;
    if (blocks.empty() || (full && blocks.back().count > 0)) {
      blocks.push_back({node, 0});
      rows = 0;
    }
    rows += need;
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
