#pragma once
/// \file hop_rows.hpp
/// Where the lists of a hop's nodes lie in a part: its own nodes', or those of its halo. For one_hop.cpp
/// only.
#include "runtime/base/pooled_vector.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/sample/hop_request.hpp"
#include "runtime/sample/indexed_lists.hpp"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <span>
#include <string>

namespace troupe {

/// The lists of the nodes that a part owns.
struct OwnedRows {
  static constexpr bool indexed = false;
  OwnedRows(const Part& part, NodeTypeId node_type, EdgeTypeId edge_type, EdgeDir dir)
      : nodes(part.nodes_of(node_type)),
        lists(part.edges_of(edge_type).lists(dir)),
        has_entries(part.edges_of(edge_type).main_lists(dir)) {}
  std::uint64_t count() const { return nodes.count; }
  bool has(NodeId id) const { return nodes.owns(id); }
  std::uint64_t row(NodeId id) const { return nodes.local(id); }
  /// Past all rows: the part does not own the node.
  std::uint64_t row_or_end(NodeId id) const { return nodes.local(id); }
  std::uint64_t original_id(NodeId /*id*/, std::uint64_t row) const {
    return nodes.original_ids[row];
  }
  std::string expected() const {
    return fmt::format("in [{}, {})", raw(nodes.first), raw(nodes.first) + nodes.count);
  }

  const PartNodes& nodes;
  const NeighbourLists& lists;
  bool has_entries;  ///< Places in the lists are entry numbers
};

/// Of these only those that have entries, as the part's index found them.
struct IndexedRows : OwnedRows {
  static constexpr bool indexed = true;

  /// \param from  of a section  \param its_excluded  edges that it leaves out
  IndexedRows(const OwnedRows& owned, std::span<const ListAt> from,
              std::span<const ExcludedEdges> its_excluded)
      : OwnedRows(owned), at(from) {
    for (std::size_t i = 0; const auto& edge : its_excluded) {
      while (i < at.size() && at[i].place < edge.place) {
        ++i;
      }
      if (i < at.size() && at[i].place == edge.place) {
        excluded.push_back({i, edge.neighbour});
      }
    }
  }

  std::span<const ListAt> at;
  PooledVector<ExcludedEdges> excluded;  ///< By place in `at`
};

/// The lists that it keeps of nodes of other parts.
struct HaloRows {
  static constexpr bool indexed = false;
  HaloRows(const Part& part, NodeTypeId node_type, EdgeTypeId edge_type, EdgeDir dir)
      : nodes(part.nodes_of(node_type)), lists(part.edges_of(edge_type).halo_lists(dir)) {}
  std::uint64_t count() const { return nodes.halo_listed.size(); }
  bool has(NodeId id) const { return nodes.halo_listed.contains(raw(id)); }
  std::uint64_t row(NodeId id) const { return *nodes.halo_listed.rank(raw(id)); }
  std::uint64_t row_or_end(NodeId id) const {
    return nodes.halo_listed.rank(raw(id)).value_or(count());
  }
  std::uint64_t original_id(NodeId id, std::uint64_t /*row*/) const {
    const auto place = nodes.halo.rank(raw(id));
    return place ? nodes.halo_original_ids[*place] : 0;
  }
  std::string expected() const {
    return fmt::format("one of the {} whose lists its halo keeps", nodes.halo_listed.size());
  }

  const PartNodes& nodes;
  const NeighbourLists& lists;
  static constexpr bool has_entries = false;
};

}  // namespace troupe
