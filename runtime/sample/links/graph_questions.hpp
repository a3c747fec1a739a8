#pragma once
/// \file graph_questions.hpp
/// What link batches ask parts besides neighbors: where nodes have gone, and whether edges are there.
/// Facts of the graph, so that any copy of a part gives the same answer at any time.
#include "runtime/base/ids.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/part.hpp"

#include <cstdint>

namespace troupe {

/// To the part whose slice of a directory has the nodes (graph/directory.hpp): what are their global
/// ids?
struct FindNodes {
  NodeTypeId node_type{};
  /// In the part's slice: original ids less the slice's first.
  PooledVector<std::uint64_t> places = {};
  std::uint64_t flow = 0;  ///< Batch in the trace; 0: none
  /// `places` are numbers of edges instead (graph/edge_ends.hpp), in the part's slice.
  bool by_edge = false;
  EdgeTypeId edge_type{};  ///< Of the edges
  bool out = false;        ///< Nodes are sources; else destinations
};
struct NodesFound {
  PooledVector<NodeId> nodes;  ///< [places]
};

/// To the part that owns nodes: are neighbors in their lists of a direction?
struct HasEdges {
  EdgeTypeId edge_type{};
  bool out = false;  ///< Lists of out-edges are read; else those of in-edges
  PooledVector<NodeId> nodes;
  PooledVector<NodeId> neighbours;  ///< [nodes]
  std::uint64_t flow = 0;           ///< Batch in the trace; 0: none
};
struct EdgesThere {
  PooledVector<std::uint8_t> has;  ///< [nodes] 1 or 0
};

/// \errors invalid_argument: no such node or edge type, a place outside the slice; failed_precondition: the
///   store has no directory, or the part no ends of edges
Result<NodesFound> find_nodes(const Part& part, const FindNodes& request);

/// \errors invalid_argument: no such edge type, a node that the part does not own, other numbers of nodes
///   and neighbors; failed_precondition: no whole lists for the direction
Result<EdgesThere> has_edges(const Part& part, const HasEdges& request);

}  // namespace troupe
