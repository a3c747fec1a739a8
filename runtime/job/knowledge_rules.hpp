#pragma once
/// \file knowledge_rules.hpp
/// Jobs that complete triples of a knowledge graph (decision 0042).
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/layout.hpp"
#include "runtime/job/problems.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/batch_builder.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// Relations are parameters of every rank up to here.
inline constexpr std::uint64_t most_dense_relations = 16384;

std::string default_knowledge_loss(const TaskJob& task);

void check_knowledge_keys(const Job& job, ProblemList& problems);
/// What batches of triples need of the graph, whoever trains with them.
/// \returns whether their ends are of one type, and there are some
bool check_triples(const Job& job, const GraphInfo& graph, ProblemList& problems);
/// And what the built-in trainer needs besides. \requires task.knowledge(); check_links() found nothing
void check_knowledge_graph(const Job& job, const GraphInfo& graph, ProblemList& problems);
/// Model and numbers of relations. \requires training_links()
void fit_knowledge_to_graph(Job& job, const GraphInfo& graph);

/// The candidates that batches have. Those of ranks' own parts are added by add_own_candidates().
SharedCandidates shared_candidates(const Job& job);
/// \errors failed_precondition: a rank without nodes of its own
Status add_own_candidates(SampleOptions& options, const Job& job, const GraphInfo& graph,
                          const Layout& layout, const PartitionBook& book);

}  // namespace troupe
