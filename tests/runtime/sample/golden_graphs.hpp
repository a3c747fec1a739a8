#pragma once
/// \file golden_graphs.hpp
/// The graphs of the golden batches (tests/goldens/batches).
#include "tests/support/graph_builder.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace troupe::testing {

/// Twelve nodes. Node 0 has in-edges from all others, node 1 a self loop and two parallel
/// edges, 2..9 a ring with chords, 10 one in-edge, 11 none.
inline TestGraph small_graph() {
  std::vector<TestEdge> edges;
  for (std::uint64_t i = 11; i > 0; --i) {
    edges.push_back({i, 0});
  }
  edges.insert(edges.end(), {{1, 1}, {2, 1}, {2, 1}, {9, 10}});
  for (std::uint64_t i = 2; i < 10; ++i) {
    const std::uint64_t place = i - 2;
    edges.push_back({2 + (place + 1) % 8, i});
    edges.push_back({2 + (place + 3) % 8, i});
    edges.push_back({2 + (place + 6) % 8, i});
  }
  return plain_graph(12, std::move(edges));
}

/// Three node types and four edge types: from type 0 to 1, back, within 1, and from 2 to 1. Node 0
/// of type 1 has many in-edges of each.
inline TestGraph hetero_graph() {
  TestGraph graph;
  graph.nodes = {
      {.name = "author", .count = 7}, {.name = "paper", .count = 9}, {.name = "venue", .count = 3}};
  graph.edges = {{.name = "writes", .source = 0, .destination = 1},
                 {.name = "written_by", .source = 1, .destination = 0},
                 {.name = "cites", .source = 1, .destination = 1},
                 {.name = "holds", .source = 2, .destination = 1}};
  for (std::uint64_t i = 0; i < 7; ++i) {
    for (const std::uint64_t paper : {std::uint64_t{0}, (2 * i + 3) % 9, (5 * i + 1) % 9}) {
      graph.edges[0].edges.push_back({6 - i, paper});
      graph.edges[1].edges.push_back({paper, 6 - i});
    }
  }
  for (std::uint64_t i = 9; i-- > 0;) {
    graph.edges[2].edges.push_back({i, 0});
    graph.edges[2].edges.push_back({(7 * i + 4) % 9, i});
    graph.edges[3].edges.push_back({i % 3, i});
    graph.edges[3].edges.push_back({(i + 1) % 3, 0});
  }
  return graph;
}

/// Weights from 0 to a million times the others'.
inline void add_golden_weights(TestEdgeType& type) {
  for (std::size_t e = 0; e < type.edges.size(); ++e) {
    const float skewed = 0.3F * static_cast<float>(1 + e % 4);
    type.weights.push_back(e == 4 ? 1e6F : e % 5 == 2 ? 0.0F : skewed);
  }
}

}  // namespace troupe::testing
