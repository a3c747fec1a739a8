#pragma once
/// \file partition_writer.hpp
/// Writes a partitioned store from a graph store and a relabelling. The format is docs/store.md.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/base/staged_directory.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/halo.hpp"
#include "runtime/partition/relabel.hpp"

#include <cstdint>

namespace troupe {

struct PartitionWriteOptions {
  HaloOptions halo = {};
  /// For the out-lists' sort, where `complete_for` asks for them.
  std::uint64_t memory_bytes = 4'000'000'000;
};

/// Writes into `staged` and commits it, different parts on different threads; without features where
/// `partition` says that they come later. To `partition` it adds ranges, edges, halo sizes and
/// files. Beside the relabelling, memory is that of the parts' halos and of some blocks.
/// \errors failed_precondition: its final name has appeared meanwhile, or it cannot be written;
///   data_corruption: seeds that do not load
Result<PartitionInfo> write_partitioned_store(const GraphStore& graph,
                                              const Relabelling& relabelling,
                                              const PartitionInfo& partition,
                                              const PartitionWriteOptions& options,
                                              StagedDirectory staged, Executor& executor);

}  // namespace troupe
