#pragma once
/// \file edge_questions.hpp
/// What programs ask parts about edges outside of batches: how many a node has, and which nodes an edge
/// is between. Facts of the graph, so that any copy of a part gives the same answer at any time.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/part.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// To the part that owns nodes: how many edges are in their lists of a direction?
struct CountEdges {
  EdgeTypeId edge_type{};
  bool out = false;  ///< Lists of out-edges are read; else those of in-edges
  std::vector<NodeId> nodes = {};
};
struct EdgesCounted {
  std::vector<std::uint64_t> degrees;  ///< [nodes]
};

/// To every part: which of some edges are in its lists, and between which nodes? Each edge of a graph is
/// in the main lists of one part.
struct FindEdges {
  EdgeTypeId edge_type{};
  std::vector<EdgeId> edges = {};  ///< Original ids, ascending, none twice
};
/// The edges that the part has, in any order.
struct EdgesFound {
  std::vector<std::uint64_t> places;  ///< In the request
  std::vector<NodeId> sources;        ///< [places] global ids
  std::vector<NodeId> destinations;   ///< [places]
  std::vector<std::uint64_t> entries =
      {};  ///< [places] in the part's main lists: rows of its tables
};

/// \errors invalid_argument: no such edge type, a node that the part does not own; failed_precondition: no
///   whole lists for the direction
Result<EdgesCounted> count_edges(const Part& part, const CountEdges& request);

/// \cost one pass over the original edge ids of the part's main lists
/// \errors invalid_argument: no such edge type, edges that do not ascend; failed_precondition: lists
///   without edge ids
Result<EdgesFound> find_edges(const Part& part, const FindEdges& request);

}  // namespace troupe
