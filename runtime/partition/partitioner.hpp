#pragma once
/// \file partitioner.hpp
/// Cuts a graph store into parts: assigns nodes, relabels them into contiguous ranges (hottest
/// first inside a part and type) and writes a partitioned store.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"

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
};

/// Node -> part, for every node type, by original id.
using Assignment = std::vector<std::vector<PartId>>;

/// Assigns nodes at random in shares that differ by at most one node: position i of a keyed
/// permutation (domain `generators`, type = node type) goes to part i * parts / count.
/// \errors invalid_argument: no part, or more parts than nodes of the largest type
Result<Assignment> assign_random(const GraphInfo& graph, std::uint32_t parts, std::uint64_t seed);

/// Assigns, relabels and writes `out`, atomically: the directory appears whole or not at all. An
/// existing `out` is an error.
/// \errors invalid_argument, unimplemented (method), data_corruption, failed_precondition (no
///   space, exists)
Result<PartitionInfo> partition_store(const GraphStore& graph, const PartitionOptions& options,
                                      const std::filesystem::path& out);

/// What `PartitionInfo::options_hash` is for these: a digest of graph.json and the options.
Result<std::string> partition_hash(const std::filesystem::path& graph_store,
                                   const PartitionOptions& options);

}  // namespace troupe
