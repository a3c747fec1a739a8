#pragma once
/// \file induced_rows.hpp
/// Rows of a batch that has all edges of the graph among its nodes. For batch_builder*.cpp only.
#include "runtime/base/result.hpp"
#include "runtime/sample/hop_request.hpp"
#include "runtime/sample/id_index.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// Finds the nodes of a batch, all of one type, that neighbors are.
/// Threads: immutable; any number at once. Borrows `nodes`
class InducedNodes {
 public:
  /// \param count  nodes of the type in the graph
  InducedNodes(const BatchNodes& nodes, std::uint64_t count);

  /// The set that lists are requested within: ascending, none twice.
  const PooledVector<NodeId>& distinct() const { return distinct_; }
  bool disjoint() const { return !nodes_.trees.empty(); }
  /// Batch-local index of a node, in a tree if disjoint.
  std::optional<std::uint32_t> find(std::uint64_t id, std::uint32_t tree) const {
    return index_.find(tree * count_ + id);
  }

 private:
  const BatchNodes& nodes_;
  std::uint64_t count_;
  IdIndex index_;
  PooledVector<NodeId> distinct_;
};

/// The entries of an answer that are of one node's list.
struct InducedEntries {
  const HopSectionView& answer;
  std::size_t first = 0;
  std::size_t count = 0;
  std::uint32_t tree = 0;  ///< Of the node
};

/// Adds the edges that lead to nodes of the batch, of the node's tree if disjoint.
/// \errors data_corruption: a neighbor that is not in the batch, unless disjoint
Status add_induced(const InducedEntries& entries, const InducedNodes& nodes, BatchEdges& edges);

}  // namespace troupe
