#pragma once
/// \file measures.hpp
/// How good an assignment is.
#include "runtime/base/executor.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/adjacency.hpp"
#include "runtime/partition/constraints.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

struct Measures {
  std::uint64_t cut_edges = 0;  ///< edges of the graph whose ends lie in different parts
  /// Sum over the vertices of the number of other parts among their neighbours: rows that one hop
  /// of all vertices moves.
  std::uint64_t communication_volume = 0;
  std::vector<PartBalance> balance;  ///< one per constraint
};

/// \param part_of  [vertices], each below `parts`
Measures measure(const Adjacency& graph, const Constraints& constraints,
                 std::span<const std::uint32_t> part_of, std::uint32_t parts, Executor& executor);

/// The same from the in-lists of the store, without an undirected view: for methods that need none.
/// \cost a pass over the edges for every 64 parts; 8 bytes per vertex
Measures measure(const GraphStore& graph, const Constraints& constraints,
                 std::span<const std::uint32_t> part_of, std::uint32_t parts, Executor& executor);

}  // namespace troupe
