#pragma once
/// \file graph_types.hpp
/// What the node and edge types of a graph mean for a job's model.
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

#include <vector>

namespace troupe {

/// More than one node type or edge type.
bool has_types(const GraphInfo& graph);

/// The types as the job's model sees them: messages against the direction of sampling.
nn::ModelTypes model_types(const Job& job, const GraphInfo& graph, NodeTypeId seeds);

/// Node types whose features the model reads: those that its layers reach.
/// \requires check_model_types() found nothing; else all
std::vector<NodeTypeId> types_read(const Job& job, const GraphInfo& graph, NodeTypeId seeds);

/// Adds what the job's model, or its evaluation, cannot do with the graph's types.
void check_model_types(const Job& job, const GraphInfo& graph, NodeTypeId seeds,
                       ProblemList& problems);

}  // namespace troupe
