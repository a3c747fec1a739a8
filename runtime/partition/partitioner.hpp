#pragma once
/// \file partitioner.hpp
/// Cuts a graph store into parts: assigns nodes, relabels them into contiguous ranges (hottest
/// first inside a part and type) and writes a partitioned store.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/assign.hpp"
#include "runtime/partition/halo.hpp"
#include "runtime/partition/relabel.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

struct PartitionOptions {
  std::string method = "random";
  std::uint32_t parts = 1;
  std::uint64_t seed = 0;
  CompleteFor complete_for = CompleteFor::in;  ///< which neighbour lists each part keeps whole
  MethodOptions more = {};
  HaloOptions halo = {};
  NodeOrder order = NodeOrder::degree;
  bool features_later = false;  ///< leave them to `add_features`, part by part
  /// For the undirected view of the graph, and for sorting where the parts keep out-lists.
  std::uint64_t memory_bytes = 4'000'000'000;
  StageHook on_stage = {};
  Assigner own = {};  ///< a method of the caller's, called `method`
};

/// Assigns, relabels and writes `out`, atomically: the directory appears whole or not at all. An
/// existing `out` is an error. The order of nodes inside parts, and the halo, change no batch.
/// \errors as `assign`; data_corruption, failed_precondition (no space, exists)
Result<PartitionInfo> partition_store(const GraphStore& graph, const PartitionOptions& options,
                                      const std::filesystem::path& out, Executor& executor);
/// The same on the calling thread alone.
Result<PartitionInfo> partition_store(const GraphStore& graph, const PartitionOptions& options,
                                      const std::filesystem::path& out);

/// What `PartitionInfo::options_hash` is for these: a digest of graph.json, the options and, with
/// method "file", the assignment.
Result<std::string> partition_hash(const std::filesystem::path& graph_store,
                                   const PartitionOptions& options);

}  // namespace troupe
