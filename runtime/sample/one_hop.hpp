#pragma once
/// \file one_hop.hpp
/// One step of sampling: draws neighbors of nodes whose lists one part has. A pure function of the
/// request and the graph, so it may run anywhere and any number of times. The holder runs it for
/// others, a sampler in place for its own host's parts.
#include "runtime/base/result.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/sample/choice/choices.hpp"
#include "runtime/sample/hop_request.hpp"

#include <cstdint>
#include <span>

namespace troupe {

/// Which of a part's lists: of the nodes that it owns, or of those around it that it keeps lists of.
enum class ListsOf : std::uint8_t { owned, halo };

/// Answers a request, in the order of its sections, until max_edges are returned: lists are cut with
/// `all_neighbours` only, else replies end between nodes. The same node gives the same answer from
/// its own part and from a halo.
/// \param kinds  table that request.choice is a place of
/// \errors invalid_argument: a node that the part does not own (or has no list of in its halo), a
///   fanout below -1, no such edge or node type, frontier or choice (with the values);
///   failed_precondition: the part has no whole lists for that direction, or not the data of edges,
///   times or alias tables that are needed;
///   unimplemented: a list of 2^32 neighbors or more, a choice that is not built
/// \cost   random reads: one offset pair and one original id per node, one entry per drawn edge; no
///   allocation per node
Result<HopReply> sample_one_hop(const Part& part, const HopRequest& request,
                                ListsOf lists_of = ListsOf::owned,
                                std::span<const ChoiceKind> kinds = choice_kinds());

}  // namespace troupe
