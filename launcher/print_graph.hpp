#pragma once
/// \file print_graph.hpp
/// What a graph consists of, as text on standard output.
#include "runtime/graph/graph_info.hpp"

namespace troupe {

/// A line per node type, edge type and split.
void print_graph(const GraphInfo& graph);

}  // namespace troupe
