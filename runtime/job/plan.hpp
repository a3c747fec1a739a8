#pragma once
/// \file plan.hpp
/// What a job will do: which actor where, memory per process, bytes per batch (design, sections 10
/// and 13).
#include "runtime/base/ids.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/layout.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Upper bounds, from fanouts and counts alone.
struct BatchCost {
  struct OfType {
    std::string name;
    std::uint64_t most = 0;
  };
  std::vector<OfType> nodes;  ///< by node type
  std::vector<OfType> edges;  ///< by edge type
  std::uint64_t max_nodes = 0;
  std::uint64_t max_edges = 0;
  std::uint64_t feature_bytes = 0;  ///< of all rows, float32
  std::uint64_t learned_bytes =
      0;  ///< of a rank in a step: learned rows read, and gradients to all replicas
  std::uint64_t learned_messages = 0;  ///< of a rank in a step
  std::uint64_t wire_bytes =
      0;  ///< expected from other hosts: ids, edges, rows, with random partitioning
};

/// What is known of a graph besides its description.
struct GraphFacts {
  /// Longest neighbour list in the job's direction. Nothing: not known, bounded by the number of edges.
  std::optional<std::uint64_t> longest_list = {};
  /// Bytes of each part of a partitioned store in memory. Empty: estimated from counts.
  std::vector<std::uint64_t> part_bytes = {};
  /// Bytes of the weights of each part's lists, halo included; as `part_bytes`.
  std::vector<std::uint64_t> weight_bytes = {};
  /// Bytes of the features of each part's nodes, halo included; as `part_bytes`.
  std::vector<std::uint64_t> row_bytes = {};
};

/// Bytes that a part's index of its halo takes besides what is stored.
std::uint64_t halo_index_bytes(const GraphInfo& graph);

/// Upper bounds of the memory of one process, by what it is for.
struct MemoryPlan {
  struct Item {
    std::string name;
    std::uint64_t bytes = 0;
  };
  std::vector<Item> items;
  std::uint64_t bytes() const;
};

struct Plan {
  Layout layout;
  std::uint32_t world = 0;
  std::uint64_t parameters = 0;  ///< numbers
  std::uint64_t batches_per_epoch = 0;
  std::uint64_t steps_per_epoch = 0;
  BatchCost batch;
  std::uint64_t store_bytes = 0;    ///< of all parts
  std::uint64_t part_bytes = 0;     ///< of the largest part; of an average one if estimated
  std::uint64_t list_bytes = 0;     ///< of these the neighbour lists, without halos
  MemoryPlan memory;                ///< of the largest process
  std::uint64_t process_bytes = 0;  ///< all of `memory`
};

Plan make_plan(const Job& job, const GraphInfo& graph, const GraphFacts& facts = {});

/// The plan as `check` prints it.
std::string to_string(const Plan& plan, const Job& job);

/// e.g. "1.5 MiB"
std::string bytes_text(std::uint64_t bytes);

}  // namespace troupe
