#pragma once
/// \file walk_positives.hpp
/// Jobs that learn pairs of nodes near each other on random walks (`task.positives` "walks").
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

#include <cstdint>

namespace troupe {

/// Steps that the nodes of a pair are apart at most, where the job does not say.
std::uint32_t default_window(const TaskJob& task);

/// The most pairs that one walk has.
std::uint64_t most_pairs_of_walk(const WalkJob& walk);

/// Adds keys that such pairs do not go with, or `positives` where they are not learned.
void check_walk_positives(const Job& job, ProblemList& problems);

/// The type of the first step: what pairs count as links of.
/// \requires task.from_walks
/// \errors invalid_argument: no such type, or several and none named
Result<EdgeTypeId> walked_type(const Job& job, const GraphInfo& graph);

/// The type that walks begin at, of which pairs are unless `task.walk.pairs` is "all".
NodeTypeId type_of_pairs(const Job& job, const GraphInfo& graph, EdgeTypeId first_step);

}  // namespace troupe
