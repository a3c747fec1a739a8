#pragma once
/// \file edges_as_links.hpp
/// All edges of a type as the links that a job trains on without a split of its edges.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"

#include <optional>

namespace troupe {

/// The edge type whose edges are the job's training links; nothing where it has others.
/// \errors invalid_argument: no such type, or several and none named
Result<std::optional<EdgeTypeId>> edges_to_learn(const Job& job, const GraphInfo& graph);

/// Edges in order of original source and destination, parallel ones too. Every process makes the list
/// from the lists of all parts.
/// \errors those of loading parts
/// \cost   48 bytes an edge while it is made, 32 afterwards
Result<LinkList> edges_as_links(const PartitionedStore& store, EdgeTypeId type);

}  // namespace troupe
