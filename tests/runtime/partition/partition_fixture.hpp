#pragma once
/// \file partition_fixture.hpp
/// Graph stores for the tests of assigners: of one type or heterogeneous, from edge lists.
#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/store_writer.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

using EdgePairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // source, destination

struct PlainEdgeType {
  std::uint16_t source = 0;
  std::uint16_t destination = 0;
  EdgePairs edges;
};

/// A graph without features: node types "t0", "t1", … of these sizes; every third node of type 0
/// is a training seed.
inline GraphContents plain_contents(const std::vector<std::uint64_t>& counts,
                                    const std::vector<PlainEdgeType>& types) {
  GraphContents contents;
  for (std::size_t t = 0; t < counts.size(); ++t) {
    NodeTypeInfo type;
    type.name = "t" + std::to_string(t);
    type.count = counts[t];
    contents.info.node_types.push_back(type);
  }
  contents.nodes.resize(counts.size());
  for (const auto& type : types) {
    EdgeTypeInfo info;
    info.name = "e" + std::to_string(contents.info.edge_types.size());
    info.source = NodeTypeId{type.source};
    info.destination = NodeTypeId{type.destination};
    info.count = type.edges.size();
    contents.info.edge_types.push_back(info);
    std::vector<std::uint64_t> sources;
    std::vector<std::uint64_t> destinations;
    for (const auto& edge : type.edges) {
      sources.push_back(edge.first);
      destinations.push_back(edge.second);
    }
    contents.in_lists.push_back(
        build_in_lists({sources, destinations}, counts[type.source], counts[type.destination]));
    contents.in_lists.back().edge_ids.clear();
  }
  auto& train = contents.seeds[{"", "train"}];
  for (std::uint64_t node = 0; node < counts[0]; node += 3) {
    train.push_back(node);
  }
  contents.info.splits.push_back({"", {{"train", {NodeTypeId{0}, train.size()}}}});
  return contents;
}

/// Writes and opens.
inline Result<GraphStore> store_of(const GraphContents& contents,
                                   const std::filesystem::path& dir) {
  TROUPE_ASSIGN_OR_RETURN(const auto written, write_graph_store(contents, dir));
  static_cast<void>(written);
  return GraphStore::open(dir, {});
}

/// Those in which parts keep lists.
inline std::vector<EdgeDir> directions(CompleteFor complete) {
  switch (complete) {
    case CompleteFor::in:
      return {EdgeDir::in};
    case CompleteFor::out:
      return {EdgeDir::out};
    case CompleteFor::both:
      break;
  }
  return {EdgeDir::in, EdgeDir::out};
}

/// Both directions of each edge.
inline EdgePairs both_ways(const EdgePairs& edges) {
  EdgePairs all;
  for (const auto& edge : edges) {
    all.push_back(edge);
    all.emplace_back(edge.second, edge.first);
  }
  return all;
}

/// `blocks` groups of `size` nodes; `inside` random edges in each group and `across` between any.
/// Node i belongs to group i % blocks, so that the order of ids says nothing about groups.
inline EdgePairs grouped_edges(std::uint64_t blocks, std::uint64_t size, std::uint64_t inside,
                               std::uint64_t across) {
  DrawStream draw(stream_key(3, {.domain = Domain::generators}), 0);
  const auto below = [&](std::uint64_t n) { return draw.below(static_cast<std::uint32_t>(n)); };
  EdgePairs edges;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    for (std::uint64_t i = 0; i < inside; ++i) {
      const auto from = below(size) * blocks + block;
      edges.emplace_back(from, below(size) * blocks + block);
    }
  }
  for (std::uint64_t i = 0; i < across; ++i) {
    const auto from = below(size * blocks);
    edges.emplace_back(from, below(size * blocks));
  }
  return edges;
}

}  // namespace troupe::testing
