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
    graph.nodes[0].columns = {testing::test_column({"age", DType::i64, {}}, 60, 1)};
    graph.edges[0].columns = {
        testing::test_column({"kind", DType::u8, {3}}, graph.edges[0].edges.size(), 2)};
    return testing::cut_graph(graph, 2);
  }();
  return cut;
}

}  // namespace troupe::fuzz
