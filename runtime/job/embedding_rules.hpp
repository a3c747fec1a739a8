#pragma once
/// \file embedding_rules.hpp
/// `embedding` of a job: what is wrong with it, and the tables that it means.
#include "runtime/feature/embedding/options.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

#include <memory>
#include <vector>

namespace troupe {

/// Adds options that a table's optimizer or start does not read.
void check_embedding_keys(const Job& job, ProblemList& problems);
/// Adds tables of node types that the graph does not have.
void check_embedding_types(const Job& job, const GraphInfo& graph, ProblemList& problems);
/// Adds tables that no layer of the model reads, and ways of training that are not built for tables.
/// \param read  node types whose rows the model reads
void check_embedding_use(const Job& job, const GraphInfo& graph,
                         const std::vector<NodeTypeId>& read, ProblemList& problems);

/// Node types whose features learned rows take the place of.
std::vector<NodeTypeId> types_with_replaced_features(const Job& job, const GraphInfo& graph);

/// Null: the job has no tables.
/// \requires check_embedding_types() found nothing
std::shared_ptr<const EmbeddingPlan> embedding_plan(const Job& job, const GraphInfo& graph);

/// Learned columns of a node type; 0: none.
std::uint64_t embedding_cols(const Job& job, const NodeTypeInfo& type);

}  // namespace troupe
