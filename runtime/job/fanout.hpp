#pragma once
/// \file fanout.hpp
/// `sample.fanout` of a job, which may say other numbers for some edge types.
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// Names in quotes with commas between them, the first eight only.
std::string quoted_list(const std::vector<std::string>& names);

/// In the order of the graph.
std::vector<std::string> edge_type_names(const GraphInfo& graph);

/// Adds what is wrong with the numbers of hops.
/// \param layers_known  `model.layers` is good
void check_hops(const Job& job, bool layers_known, ProblemList& problems);

/// Adds names of edge types that the graph does not have, and edge types that nothing is said of.
void check_fanout(const Job& job, const GraphInfo& graph, ProblemList& problems);

/// [hop][edge type], as the sampler takes it.
/// \requires check_fanout() found nothing; else nothing is drawn along types that nothing is said of
std::vector<std::vector<std::int32_t>> fanout_by_hop(const SampleJob& sample,
                                                     const GraphInfo& graph);

/// Edge types along which a choice is made in some hop, not all neighbors, nor none, or in a step of a walk.
std::vector<EdgeTypeId> drawn_edge_types(const Job& job, const GraphInfo& graph);

/// Adds edge types along which a choice that needs weights is made, and that have none.
/// \requires check_fanout() found nothing
void check_weights(const Job& job, const GraphInfo& graph, ProblemList& problems);

/// Adds what is missing for times: edge types with them, all that are drawn along where the choice needs them.
/// \requires check_fanout() found nothing
void check_times(const Job& job, const GraphInfo& graph, ProblemList& problems);

/// Adds data that batches are to carry, and that no edge type has along which the job samples.
/// \requires check_fanout() found nothing
void check_edge_data(const Job& job, const GraphInfo& graph, ProblemList& problems);

}  // namespace troupe
