#pragma once
/// \file bidirectional.hpp
/// Batches whose edges lead both ways: each drawn edge is joined by its reverse.
#include "runtime/graph/graph_info.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <optional>
#include <span>

namespace troupe {

/// Makes a directional batch that is grown bidirectional (decision 0030). A row has the drawn edges of
/// its node, in their order, then the reverses of other nodes' edges, in the order of these: edge types in
/// schema order, then row by row. A reverse is left out where an edge between its ends is there already,
/// so parallel edges have one. It has its edge's weight and time, and as id its edge's plus the end of
/// the ids of its own type.
/// \param reverse_of  [edge types] type of the reverses; nothing: none are added
/// \requires the two types join the same node types, the other way round
void add_reverse_edges(SampledBatch& batch, const GraphInfo& graph,
                       std::span<const std::optional<EdgeTypeId>> reverse_of);

/// Replaces `hops` and the ends of hops: one row for every node, in one hop.
/// \requires rows of all edge types are so already
void close_hops(SampledBatch& batch);

}  // namespace troupe
