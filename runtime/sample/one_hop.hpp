#pragma once
/// \file one_hop.hpp
/// One step of sampling: draws neighbours of nodes whose lists one part has. A pure function of the
/// request and the graph, so it may run anywhere and any number of times. The holder runs it for
/// others, a sampler in place for its own host's parts.
#include "runtime/base/id_list.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/part.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

inline constexpr std::int32_t all_neighbours = -1;

/// Asks for neighbours of nodes of one part, along one edge type.
struct HopRequest {
  EdgeTypeId edge_type{};
  NodeTypeId
      node_type{};  ///< of the frontier: the edge type's destination for `in`, its source for `out`
  EdgeDir dir = EdgeDir::in;
  std::int32_t fanout = all_neighbours;  ///< >= 0, or all_neighbours
  bool replace = false;
  bool with_edge_ids = false;
  StreamKey key;                 ///< of domain `neighbours`, edge type, hop, epoch, batch
  std::vector<NodeId> frontier;  ///< all owned by the part; order is kept; duplicates allowed
  std::uint64_t first_position =
      0;  ///< where to go on in the list of frontier[0]: set from HopReply::resume_position
  std::uint64_t max_edges =
      ~std::uint64_t{0};   ///< most edges to return; at least one is returned if there is any
  std::uint64_t flow = 0;  ///< of the batch in the trace; 0: none
};

/// Drawn neighbours in frontier order, each node's in ascending position of its list.
struct HopReply {
  std::vector<std::uint32_t>
      counts;         ///< [covered nodes]: the first counts.size() frontier nodes are covered
  IdList neighbours;  ///< [sum of counts] global ids
  Segment edge_ids;   ///< [sum of counts] u64 original edge ids, or empty
  /// Not 0: the last covered node's list was cut there by max_edges; ask again for it with this
  /// first_position. If 0 and counts are fewer than the frontier, ask again for the nodes that
  /// follow.
  std::uint64_t resume_position = 0;
};

/// Which of a part's lists: of the nodes that it owns, or of those around it that it keeps lists of.
enum class ListsOf : std::uint8_t { owned, halo };

/// Draws as design section 4 fixes it: without replacement by Floyd's algorithm (Bentley and Floyd,
/// CACM 30(9), 1987), degree <= fanout gives all positions; with replacement `fanout` draws,
/// repeats kept, degree 0 gives none; positions ascending. Bounded draws by DrawStream::below on
/// the stream (key, original id). Replies are cut inside a node's list only with `all_neighbours`,
/// else between nodes.
/// The same node gives the same answer from its own part and from a halo.
/// \errors invalid_argument: a node that the part does not own (or has no list of in its halo), a fanout below -1, no such edge or
///   node type (with the values); failed_precondition: the part has no whole lists for that
///   direction, or no edge ids; unimplemented: a list of 2^32 neighbours or more
/// \cost   random reads: one offset pair and one original id per node, one entry per drawn edge; no
///   allocation per node
Result<HopReply> sample_one_hop(const Part& part, const HopRequest& request,
                                ListsOf lists_of = ListsOf::owned);

/// The positions drawn for one node: ascending, in [0, degree); they replace what `out` held. The
/// heart of sample_one_hop, for tests and other callers.
void draw_positions(DrawStream stream, std::uint32_t degree, std::uint32_t fanout, bool replace,
                    std::vector<std::uint32_t>& out);

}  // namespace troupe
