#pragma once
/// \file inference_blocks.hpp
/// Cuts a part's nodes into blocks for layer-wise inference. A node's outputs do not depend on the
/// block it is in, so the cut is free: it only bounds memory.
#include "runtime/base/ids.hpp"
#include "runtime/graph/part.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// Nodes [first, first + count) by local index.
struct InferenceBlock {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// What the blocks of one node type's destinations read.
struct BlockInputs {
  /// Rows of a node type, by NodeTypeId.
  struct Rows {
    std::uint64_t nodes = 0;  ///< of the type in the graph
    std::uint64_t bytes = 0;  ///< of a row, and what is made of it; 0: not read
  };
  /// Neighbors of the destinations along one edge type.
  struct Along {
    const NeighbourLists* lists = nullptr;
    NodeTypeId source{};
    std::uint64_t bytes = 0;  ///< of each edge
  };
  std::vector<Rows> rows;
  std::vector<Along> along;
  NodeTypeId own{};             ///< type of the destinations
  std::uint64_t own_bytes = 0;  ///< of each destination, beside its row
};

/// Blocks of consecutive nodes whose input rows (each node and all its neighbors, counted with
/// repeats but never more of a type than the graph has), edges and destinations take at most
/// `block_bytes`; at least one node each.
/// \param nodes  of the part
std::vector<InferenceBlock> inference_blocks(const BlockInputs& inputs, std::uint64_t nodes,
                                             std::uint64_t block_bytes);
/// What the block takes that takes most, if each has one node.
std::uint64_t largest_node_bytes(const BlockInputs& inputs, std::uint64_t nodes);

/// Seeds of a role that a part owns: their positions in the role's list, ascending.
std::vector<std::uint64_t> owned_positions(const std::vector<NodeId>& seeds,
                                           const PartNodes& nodes);

}  // namespace troupe
