#pragma once
/// \file hop_request.hpp
/// The request for one hop of sampling and its reply. One request asks a part along all edge types
/// that start at its nodes, so that a hop takes one request per holder.
#include "runtime/base/id_list.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/edge_data.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/sample/choice/choice.hpp"
#include "runtime/sample/stretch.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// Nodes of one type whose neighbors are requested.
struct HopFrontier {
  NodeTypeId node_type{};
  PooledVector<NodeId> nodes;  ///< All owned by the part; order is kept; duplicates allowed
  PooledVector<std::uint32_t> trees = {};  ///< [nodes] that they are drawn for; or empty: all for 0
  /// [nodes] of their trees: limits edges with times, as HopRequest::time says; or empty: no limit.
  PooledVector<std::int64_t> times = {};
};

/// Edges that a request leaves out: all from the node at a place of its frontier to a neighbor.
struct ExcludedEdges {
  std::uint64_t place = 0;
  NodeId neighbour{};
  friend auto operator<=>(const ExcludedEdges&, const ExcludedEdges&) = default;
};

/// One edge type of a request.
struct HopSection {
  EdgeTypeId edge_type{};
  std::uint32_t frontier = 0;            ///< Place in HopRequest::frontiers
  std::int32_t fanout = all_neighbours;  ///< >= 0, or all_neighbours
  StreamKey key{};                       ///< Of domain `neighbours`, edge type, hop, epoch, batch
  std::uint64_t first_position = 0;      ///< Where the list of the first node continues, from
                                         ///< HopReply::Section::resume_position; else 0
  EdgeData edge_data{};                  ///< What comes with the neighbors
  /// Ascending, none twice: entries that are as if they were not in the lists. Fanouts stay full.
  PooledVector<ExcludedEdges> excluded = {};
  /// With fanout all_neighbours: place in HopRequest::frontiers of nodes of the neighbors' type; of the
  /// lists only the entries are taken that lead to them.
  std::optional<std::uint32_t> within = std::nullopt;
};

/// Requests neighbors of nodes of one part.
struct HopRequest {
  EdgeDir dir = EdgeDir::in;
  std::uint16_t choice = 0;  ///< Place in choice_kinds()
  bool replace = false;
  TimeRule time{};                              ///< For frontiers with times
  std::vector<HopFrontier> frontiers;           ///< Of sections, or their sets of neighbors
  std::vector<HopSection> sections;             ///< In ascending order of edge types
  std::uint64_t max_edges = ~std::uint64_t{0};  ///< Most edges in the reply; at least one is
                                                ///< returned if there is any
  std::uint64_t flow = 0;                       ///< Batch in the trace; 0: none

  /// Nodes of all sections.
  std::uint64_t num_nodes() const;
};

/// Neighbors in the order of the request: the first `sections.size()` sections are answered, each
/// in frontier order, each node's neighbors in ascending position of its list. Sections without an
/// answer, and what is missing of the last one, are requested again.
struct HopReply {
  struct Section {
    std::uint64_t nodes = 0;       ///< Covered: the first so many of its frontier
    std::uint8_t width_bytes = 8;  ///< Of its neighbors' ids: 4 or 8
    /// Not 0: the last covered node's list was cut there by max_edges; its request continues with
    /// this first_position.
    std::uint64_t resume_position = 0;
    EdgeData edge_data{};  ///< As requested
    /// Where few of the covered nodes have neighbors: number of those, which `counts` and `places` are
    /// about.
    std::optional<std::uint64_t> listed = std::nullopt;
  };
  std::vector<Section> sections;
  PooledVector<std::uint32_t> counts;  ///< [covered nodes, or listed ones], section after section
  PooledVector<std::uint32_t>
      places;          ///< [listed nodes] of each section, ascending, in its frontier
  Segment neighbours;  ///< Global ids; each section begins at a multiple of 8 bytes
  /// u64 original edge ids, then u64 entry numbers, then i64 times, then f32 weights; of each those of
  /// the sections that have it, an element for each neighbor.
  Segment edge_data;
};

/// One section of a reply. Borrowed.
struct HopSectionView {
  std::uint64_t nodes = 0;                               ///< Covered
  std::span<const std::uint32_t> counts;                 ///< [nodes], or of `places`
  std::optional<std::span<const std::uint32_t>> places;  ///< Of the nodes with neighbors, if listed
  IdSpan neighbours;                                     ///< [sum of counts]
  EdgeData edge_data{};
  std::span<const std::uint64_t> edge_ids;  ///< [sum of counts], or empty
  std::span<const std::uint64_t> entries;   ///< likewise
  std::span<const float> weights;           ///< likewise
  std::span<const std::int64_t> times;      ///< likewise
  std::uint64_t resume_position = 0;
};

/// \errors data_corruption: sizes that do not agree with each other (named)
Result<std::vector<HopSectionView>> sections_of(const HopReply& reply);

}  // namespace troupe
