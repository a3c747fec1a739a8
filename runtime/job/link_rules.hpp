#pragma once
/// \file link_rules.hpp
/// Jobs whose seeds are links, against the graph.
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/links/link_options.hpp"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

/// Type of the edges that lead back from the destinations of links: the one that the job names, else
/// their own where it joins nodes of one type.
/// \requires check_links() found nothing
std::optional<EdgeTypeId> reverse_type(const TaskJob& task, const GraphInfo& graph,
                                       EdgeTypeId links);

/// The same of links of several edge types, by type; empty for those of one.
/// \requires check_links() found nothing
std::map<EdgeTypeId, std::optional<EdgeTypeId>> reverse_types(const TaskJob& task,
                                                              const GraphInfo& graph,
                                                              const SplitInfo::LinkRole& links);

using EndTypes = LinkEndTypes;
/// Node types of the ends of links; of those of several edge types, of the first one's.
EndTypes end_types_of(const GraphInfo& graph, const SplitInfo::LinkRole& links);

/// Edge types of links, those of triples along several in the order of the relations.
std::vector<EdgeTypeId> edge_types_of(const SplitInfo::LinkRole& links);

/// Links that training goes over, if the job's seeds are links and its split has some.
const SplitInfo::LinkRole* training_links(const Job& job, const GraphInfo& graph);

/// Links that the job trains on with negatives drawn by degree; null: it draws none so.
const SplitInfo::LinkRole* links_by_degree(const Job& job, const GraphInfo& graph);

/// Gives a job that draws negatives by degree the numbers of edges in the slices of the store.
/// \requires check_links() found nothing
/// \errors failed_precondition: the store has no ends of edges
Status take_edge_ends(SampleOptions& options, const Job& job, const PartitionedStore& store);

/// The part with the ends of edges that the job draws by; itself where it draws by none.
/// \errors those of PartitionedStore::with_ends
Result<std::shared_ptr<const Part>> with_ends_of(std::shared_ptr<const Part> part, const Job& job,
                                                 const PartitionedStore& store);

/// Adds what a job of links lacks: links of the split, a reverse edge type that is one.
/// \param trainer  none: links to train may be 0
void check_links(const Job& job, const GraphInfo& graph, JobTrainer trainer, ProblemList& problems);

/// Adds keys of links where seeds are nodes.
void check_task(const TaskJob& task, ProblemList& problems);

/// Adds roles of the split whose seeds lack times, where each seed has its own.
void check_times_of_split(const Job& job, const GraphInfo& graph, ProblemList& problems);

}  // namespace troupe
