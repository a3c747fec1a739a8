#pragma once
/// \file small_graph.hpp
/// A graph of 60 nodes in two parts that messages are about.
#include "tests/support/graph_builder.hpp"

namespace troupe::fuzz {

inline const testing::CutGraph& small_graph() {
  static const testing::CutGraph cut = [] {
    auto graph = testing::skewed_graph(60, 4);
    testing::add_features(graph.nodes[0], 5);
    testing::add_weights(graph.edges[0]);
    testing::add_times(graph.edges[0]);
    testing::add_edge_features(graph.edges[0], 2);
    return testing::cut_graph(graph, 2);
  }();
  return cut;
}

}  // namespace troupe::fuzz
