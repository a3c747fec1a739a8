#pragma once
/// \file end_writer.hpp
/// Writes the ends of edges by original id (graph/edge_ends.hpp). Used by partition_writer.cpp only.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"

#include <cstdint>
#include <filesystem>

namespace troupe {

/// Adds the arrays of all parts to `partition.files`, and their sizes as `partition.ends`.
/// \cost   memory for a number per node of one node type; a pass over the edges of each type
/// \errors failed_precondition: they cannot be written
Status write_ends(const GraphStore& graph, const std::filesystem::path& dir,
                  PartitionInfo& partition);

}  // namespace troupe
