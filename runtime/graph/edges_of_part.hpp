#pragma once
/// \file edges_of_part.hpp
/// The edges of a part one by one.
#include "runtime/graph/part.hpp"

#include <cstdint>

namespace troupe {

/// Calls `f(source, destination)` with the global ids of each edge of a type that the part keeps, in the order of its lists
/// of in-edges, or of out-edges where it has none of those.
template <class F>
void each_edge_of(const Part& part, EdgeTypeId type, const F& f) {
  const auto& edges = part.edges_of(type);
  const bool in = edges.in.present();
  const auto& lists = in ? edges.in : edges.out;
  const auto& own = part.nodes_of(in ? edges.destination_type : edges.source_type);
  lists.neighbours.visit([&](auto neighbours) {
    for (std::uint64_t local = 0; local < own.count; ++local) {
      const auto node = advance(own.first, local);
      for (auto at = lists.offsets[local]; at < lists.offsets[local + 1]; ++at) {
        const auto other = NodeId{neighbours[at]};
        f(in ? other : node, in ? node : other);
      }
    }
  });
}

}  // namespace troupe
