#pragma once
/// \file part.hpp
/// One partition of a graph in memory: read-only, shared by everything on its host. Local index i
/// of a node type is the global id `first + i`.
#include "runtime/base/alias_table.hpp"
#include "runtime/base/id_list.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/ranked_set.hpp"
#include "runtime/graph/edge_ends.hpp"
#include "runtime/graph/feature_table.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// Neighbour lists of one edge type in one direction, one per node that the part owns, as CSR. Each
/// list is in order of the neighbours' original ids, parallel edges by original edge id; lists with
/// times by time first. A draw is a position in it (design, section 4).
struct NeighbourLists {
  std::span<const std::uint64_t> offsets;   ///< [owned nodes + 1], starts at 0
  IdSpan neighbours;                        ///< [edges], global ids
  std::span<const std::uint64_t> edge_ids;  ///< [edges] original edge ids, or empty if not stored
  std::span<const float> weights;           ///< [edges], finite and >= 0; or empty if not stored
  std::span<const std::int64_t> times;      ///< [edges], or empty if not stored
  std::span<const AliasSlot> aliases;       ///< [edges], a table per list; or empty if not made
  /// [edges] sums of integer weights up to and with each entry, over all lists, modulo 2^64; those of a
  /// list add up to less than 2^64. Made beside the tables where edges have times.
  std::span<const std::uint64_t> weight_sums;
  bool zero_weights = false;   ///< Some weight is 0; known where there are aliases
  IdSpan neighbour_originals;  ///< [edges] original ids of the neighbors, or empty if not made

  bool present() const noexcept { return !offsets.empty(); }
  std::uint64_t degree(std::uint64_t local) const { return offsets[local + 1] - offsets[local]; }
};

/// A list of a node that is not empty, among those of all edge types.
struct IndexedList {
  static constexpr std::uint16_t many = 0xFFFF;

  std::uint32_t begin = 0;  ///< First entry in the lists of the edge type
  EdgeTypeId edge_type{};
  std::uint16_t entries = 0;  ///< `many`: so many or more, which the lists' offsets say
};

/// Which lists of a part's nodes are not empty (list_index.hpp).
struct ListIndex {
  std::span<const std::uint64_t> offsets;  ///< [owned nodes + 1]; empty: there is no index
  std::span<const IndexedList> lists;      ///< By node, those of a node by edge type

  bool present() const noexcept { return !offsets.empty(); }
  std::span<const IndexedList> of(std::uint64_t local) const {
    return lists.subspan(offsets[local], offsets[local + 1] - offsets[local]);
  }
};

/// The nodes of one type that a part owns.
struct PartNodes {
  NodeId first{};
  std::uint64_t count = 0;
  std::span<const std::uint64_t> original_ids;  ///< [count]
  std::optional<FeatureTable> features;         ///< [count, cols]
  std::span<const std::int64_t>
      labels;  ///< [count] classes, -1 = unlabelled; empty if the type has none
  std::span<const float>
      targets;  ///< [count, classes] multi-label targets or numbers; empty if the type has none
  std::vector<FeatureTable> columns = {};  ///< [columns of the type], in order of local indices
  /// Nodes of this type that the part's lists name but other parts own: ascending global ids, and
  /// their original ids.
  std::span<const std::uint64_t> halo_ids;
  std::span<const std::uint64_t> halo_original_ids;
  /// [halo] how many hops from the owned nodes, from 1; empty where no lists of them are kept.
  std::span<const std::uint8_t> halo_hops;
  std::optional<FeatureTable> halo_features;  ///< [halo, cols]
  RankedSet halo;         ///< halo_ids; empty where neither lists nor features of them are kept
  RankedSet halo_listed;  ///< those of them whose lists are kept: row of halo_in and halo_out
  /// The part's slice of the type's directory (directory.hpp): global ids by original id, from the
  /// slice's first one on; empty where the store has none.
  IdSpan directory;
  ListIndex in_index;   ///< Of their in-lists along all edge types
  ListIndex out_index;  ///< Of their out-lists

  const ListIndex& index(EdgeDir dir) const { return dir == EdgeDir::in ? in_index : out_index; }
  bool owns(NodeId id) const noexcept { return raw(id) - raw(first) < count; }
  std::uint64_t local(NodeId id) const noexcept { return raw(id) - raw(first); }
};

struct PartEdges {
  NodeTypeId source_type{};
  NodeTypeId destination_type{};
  NeighbourLists in;   ///< owned destinations -> sources
  NeighbourLists out;  ///< owned sources -> destinations
  /// [edges of `in`, or of `out` where there is no `in`; cols]
  std::optional<FeatureTable> features;
  std::vector<FeatureTable> columns = {};  ///< [columns of the type], in the same order
  /// Whole lists of nodes that other parts own: those with halo_hops of at most the part's
  /// `halo_hops`, in the order of halo_ids.
  NeighbourLists halo_in;
  NeighbourLists halo_out;
  const NeighbourLists& lists(EdgeDir dir) const { return dir == EdgeDir::in ? in : out; }
  const NeighbourLists& halo_lists(EdgeDir dir) const {
    return dir == EdgeDir::in ? halo_in : halo_out;
  }
  /// The part's slices of the ends of all edges (edge_ends.hpp): nodes with in-edges, with out-edges; or
  /// empty where no draw needs them.
  std::span<const EdgeEnd> in_ends;
  std::span<const EdgeEnd> out_ends;
  std::span<const EdgeEnd> ends(EdgeDir dir) const {
    return dir == EdgeDir::in ? in_ends : out_ends;
  }
  /// Whether the lists of a direction are the main ones, whose order rows of features have.
  bool main_lists(EdgeDir dir) const { return in.present() == (dir == EdgeDir::in); }
  /// Of the neighbors in the lists of a direction.
  NodeTypeId neighbour_type(EdgeDir dir) const {
    return dir == EdgeDir::in ? source_type : destination_type;
  }
};

/// Threads: immutable after loading; any number at once.
struct Part {
  PartId id{};
  CompleteFor complete_for = CompleteFor::in;
  std::uint32_t halo_hops = 0;                      ///< whose lists are kept
  std::vector<PartNodes> nodes;                     ///< by NodeTypeId
  std::vector<PartEdges> edges;                     ///< by EdgeTypeId
  std::uint64_t bytes = 0;                          ///< of all arrays
  std::vector<std::shared_ptr<const void>> owners;  ///< keep the arrays alive

  const PartNodes& nodes_of(NodeTypeId type) const { return nodes[raw(type)]; }
  const PartEdges& edges_of(EdgeTypeId type) const { return edges[raw(type)]; }
};

}  // namespace troupe
