#pragma once
/// \file link_rules.hpp
/// Jobs whose seeds are links, against the graph.
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"
#include "runtime/sample/links/link_options.hpp"

#include <optional>

namespace troupe {

/// Type of the edges that lead back from the destinations of links: the one that the job names, else
/// their own where it joins nodes of one type.
/// \requires check_links() found nothing
std::optional<EdgeTypeId> reverse_type(const TaskJob& task, const GraphInfo& graph,
                                       EdgeTypeId links);

/// Links that training goes over, if the job's seeds are links and its split has some.
const SplitInfo::LinkRole* training_links(const Job& job, const GraphInfo& graph);

/// Adds what a job of links lacks: links of the split, a reverse edge type that is one.
void check_links(const Job& job, const GraphInfo& graph, ProblemList& problems);

/// Adds keys of links where seeds are nodes.
void check_task(const TaskJob& task, ProblemList& problems);

/// Adds roles of the split whose seeds lack times, where each seed has its own.
void check_times_of_split(const Job& job, const GraphInfo& graph, ProblemList& problems);

}  // namespace troupe
