#pragma once
/// \file walk_rules.hpp
/// Jobs whose batches are random walks: their options, and what they go with.
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"
#include "runtime/job/reach.hpp"
#include "runtime/sample/links/link_options.hpp"
#include "runtime/sample/walks/walk_options.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <vector>

namespace troupe {

/// Gives a job of walks the fanout 1 along the types of its steps, where it says none.
void take_fanout_from_walks(nlohmann::json& root);

/// What a job of walks has as `sample.fanout` where it says none.
nlohmann::json fanout_of_walks(const WalkJob& walk);

/// Puts that in the place of the fanout that a job of walks says, which nothing reads.
void take_fanout_from_walks(Job& job);

/// Adds keys that walks do not go with, or keys of walks where there are none.
void check_walk_keys(const Job& job, ProblemList& problems);

/// Adds edge types of steps that the graph does not have or that do not lead on from each other.
void check_walks(const Job& job, const GraphInfo& graph, ProblemList& problems);

/// Edge types that steps of a job's walks go along, each once; without walks none, as of names that the graph
/// does not have.
std::vector<EdgeTypeId> walked_types(const Job& job, const GraphInfo& graph);

/// Types of the ends of pairs on walks, where batches take them by turns: ordered, each once. Empty: pairs are of the
/// type that walks begin at, or `task.walk.along` names a type that the graph does not have.
std::vector<LinkEndTypes> types_of_pairs(const Job& job, const GraphInfo& graph);

/// \requires check_walks() found nothing
WalkOptions walk_options(const WalkJob& walk, const GraphInfo& graph);

/// The most that one batch of walks can touch.
/// \param seeds  of one batch, by node type
Reach walk_reach(const Job& job, const GraphInfo& graph, const std::vector<std::uint64_t>& seeds);

/// The most that one batch of a job can touch: of walks, or of sampled hops.
/// \param seeds  as walk_reach() has them
Reach reach_of_batch(const Job& job, const GraphInfo& graph,
                     const std::vector<std::uint64_t>& seeds);

}  // namespace troupe
