#pragma once
/// \file partition_writer.hpp
/// Writes a partitioned store from a graph store and a relabelling. The format is docs/store.md.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/relabel.hpp"

#include <filesystem>

namespace troupe {

/// Writes `out`, atomically. Of `partition` it takes method, parts, options_hash and complete_for;
/// it returns all of it.
/// \errors failed_precondition: `out` exists or cannot be written; data_corruption: seeds that do
///   not load
Result<PartitionInfo> write_partitioned_store(const GraphStore& graph,
                                              const Relabelling& relabelling,
                                              const PartitionInfo& partition,
                                              const std::filesystem::path& out);

}  // namespace troupe
