#pragma once
/// \file node_counts.hpp
/// Counts of nodes that no array confirms. Importers and the loader of stores hold them to the edges,
/// as memory is taken for them.
#include "runtime/graph/graph_info.hpp"

#include <cstdint>

namespace troupe {

/// A node type with more nodes than its edges account for.
struct UnconfirmedCount {
  const NodeTypeInfo* type = nullptr;  ///< Null: there is none
  std::uint64_t edges = 0;             ///< That begin at its nodes
};

/// The first node type without features, labels and edges that end there, whose size would confirm
/// the count, that has too many nodes for the edges that begin there.
UnconfirmedCount find_unconfirmed_count(const GraphInfo& info);

}  // namespace troupe
