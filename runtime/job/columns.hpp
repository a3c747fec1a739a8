#pragma once
/// \file columns.hpp
/// Named columns that a job's batches have: "nodes-TYPE/NAME" and "edges-TYPE/NAME", as in the store.
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// The columns that the graph has, ascending by table.
std::vector<WantedColumn> wanted_columns(const Job& job, const GraphInfo& graph);

/// Edge types of which columns are wanted, each once.
std::vector<EdgeTypeId> types_of_edge_columns(const Job& job, const GraphInfo& graph);

/// Whether batches have rows of edges that their owners read: features or columns.
bool reads_rows_of_edges(const Job& job);

/// Bytes that columns add to each node or edge of a type.
std::uint64_t column_bytes(const std::vector<WantedColumn>& columns, TableName::Kind kind,
                           std::size_t type);

/// Adds columns that the graph does not have, or that no sampled edge does.
/// \requires check_fanout() found nothing
void check_columns(const Job& job, const GraphInfo& graph, ProblemList& problems);

}  // namespace troupe
