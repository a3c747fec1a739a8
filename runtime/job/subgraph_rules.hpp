#pragma once
/// \file subgraph_rules.hpp
/// Jobs whose batches have more edges than were drawn, against the graph.
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// By edge type, for those along which some hop samples: the type that reverses of its edges are of. It is
/// the type itself where that joins nodes of one type, else the only one that leads back; nothing where
/// there is none, or several.
/// \param fanout  [hop][edge type]
std::vector<std::optional<EdgeTypeId>> reverses_of_sampled(
    const std::vector<std::vector<std::int32_t>>& fanout, const GraphInfo& graph);

/// Adds what batches with reverse edges lack: a type of reverses for each type that is sampled, and that
/// links leave out both ways.
void check_subgraph(const Job& job, const GraphInfo& graph, ProblemList& problems);

}  // namespace troupe
