#pragma once
/// \file print_graph.hpp
/// What a graph consists of, as text on standard output.
#include "runtime/graph/graph_info.hpp"

namespace troupe {

/// Of more edge types than these only the first are named.
inline constexpr std::size_t most_types_shown = 12;

/// A line per node type, edge type and split.
void print_graph(const GraphInfo& graph);

}  // namespace troupe
