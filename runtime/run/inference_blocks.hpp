#pragma once
/// \file inference_blocks.hpp
/// Cuts a part's nodes into blocks for layer-wise inference. A node's outputs do not depend on the
/// block it is in, so the cut is free: it only bounds memory.
#include "runtime/graph/part.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// Nodes [first, first + count) by local index.
struct InferenceBlock {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// Blocks of consecutive nodes whose input rows (each node and all its neighbours, counted with
/// repeats but never more than `total_nodes`) take at most `block_bytes`; at least one node each.
std::vector<InferenceBlock> inference_blocks(const NeighbourLists& lists, std::uint64_t nodes,
                                             std::uint64_t total_nodes, std::uint64_t row_bytes,
                                             std::uint64_t block_bytes);

/// Seeds of a role that a part owns: their positions in the role's list, ascending.
std::vector<std::uint64_t> owned_positions(const std::vector<NodeId>& seeds,
                                           const PartNodes& nodes);

}  // namespace troupe
