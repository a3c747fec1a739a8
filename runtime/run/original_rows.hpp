#pragma once
/// \file original_rows.hpp
/// Files of original ids that a job names, a row each of a node, or of the ends of a link.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/table.hpp"
#include "runtime/graph/store.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

using RowIds = std::vector<std::uint64_t>;

Result<Table> open_table(const std::filesystem::path& file);

/// Ids of a file of nodes (one column), links (two) or triples (three), row by row.
/// \param ends  of the columns: one past the largest id
/// \param columns  what they are, where not those, for errors: "head and relation per row, [triples, 2]"
/// \errors invalid_argument: another shape or dtype, an id past its end, no rows; those of the file
Result<RowIds> read_rows(const std::filesystem::path& file, const RowIds& ends,
                         const std::string& columns = {});

/// Nodes, each once, ascending by original id.
struct DistinctNodes {
  SeedList nodes;
  std::vector<std::uint64_t> places;  ///< in `nodes` of those that were given
};
/// \errors those of locate_nodes()
Result<DistinctNodes> distinct_nodes(const PartitionedStore& store, NodeTypeId type,
                                     const RowIds& original);

/// The global ids of nodes, in the order given. \errors those of locate_nodes()
Result<std::vector<NodeId>> global_ids(const PartitionedStore& store, NodeTypeId type,
                                       const RowIds& original);

}  // namespace troupe
