#pragma once
/// \file exclusions.hpp
/// Edges that no hop of a batch draws.
#include "runtime/base/pooled_vector.hpp"
#include "runtime/sample/hop_request.hpp"
#include "runtime/sample/id_index.hpp"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// Lifecycle: add() edges, finish(), then of()
/// Threads:   immutable after finish(); any number at once
class Exclusions {
 public:
  explicit Exclusions(std::size_t edge_types) : types_(edge_types) {}

  /// \param node  whose list the edges lie in
  void add(EdgeTypeId type, NodeId node, NodeId neighbour) {
    types_[raw(type)].edges.emplace_back(node, neighbour);
  }
  void finish();

  /// Those in the lists of a frontier's nodes.
  PooledVector<ExcludedEdges> of(EdgeTypeId type, std::span<const NodeId> frontier) const;

 private:
  struct OfType {
    PooledVector<std::pair<NodeId, NodeId>> edges;  ///< Ascending, none twice
    IdIndex first;                                  ///< Place of a node's first one
  };
  std::vector<OfType> types_;
};

}  // namespace troupe
