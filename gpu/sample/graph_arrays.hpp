#pragma once
/// \file graph_arrays.hpp
/// What sampling on a device reads of a part and of a job, in headers that nvcc compiles fast.
#include "runtime/base/philox.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {
struct SampleOptions;
struct BatchSeeds;
}  // namespace troupe

namespace troupe::gpu {

/// Borrowed. Arrays that are not read are empty.
struct GraphArrays {
  struct Nodes {
    std::uint64_t count = 0;
    std::uint8_t id_bytes = 4;  ///< Of a node's id in lists: 4 or 8
    std::span<const std::uint64_t> original_ids = {};
  };
  struct Lists {
    NodeTypeId destination_type{};  ///< Of the nodes that have the lists
    NodeTypeId source_type{};       ///< Of the neighbors
    EdgeData data{};                ///< That batches have
    NeighbourLists lists = {};      ///< Not present along edge types that no hop follows
  };

  std::vector<Nodes> nodes = {};  ///< By NodeTypeId
  std::vector<Lists> lists = {};  ///< By EdgeTypeId

  /// What they take on a device.
  std::uint64_t bytes() const;
};

/// What of a job's options decides a batch.
struct SamplingPlan {
  std::vector<std::vector<std::int32_t>> fanout = {};  ///< [hop][edge type], or all_neighbours
  bool replace = false;
  bool weighted = false;  ///< Else uniform
  bool shared = false;    ///< All hops draw with the words of the first
  Frontier frontier = Frontier::fresh;
  Domain domain = Domain::neighbours;  ///< Of the draws
  std::uint64_t job_seed = 0;
};

/// Seeds of one type after those of another. Borrowed.
struct SeedsOfType {
  NodeTypeId type{};
  std::span<const NodeId> nodes = {};
};

/// Whether batches of a job can be sampled on a device.
/// \errors unimplemented: a setting that has no kernel, which is named
Status check_device_sampling(const SampleOptions& options);

/// \param part  has the whole graph
/// \errors those of check_device_sampling(); failed_precondition: nodes, lists, data of edges or alias
///   tables that the part does not have; unimplemented: a list of 2^32 entries or more
Result<GraphArrays> arrays_for_device(const GraphInfo& graph, const Part& part,
                                      const SampleOptions& options);

/// \requires check_device_sampling()
SamplingPlan sampling_plan(const SampleOptions& options);

/// \param counts  nodes by NodeTypeId
/// \errors invalid_argument: no group, a type or a seed that the graph does not have, 2^31 seeds or more;
///   unimplemented: excluded edges
Result<std::vector<SeedsOfType>> seeds_for_device(std::span<const std::uint64_t> counts,
                                                  const BatchSeeds& seeds);

/// A batch is too large for a device.
Error too_many_candidates(std::size_t node_type, std::uint64_t nodes);
Error too_many_edges(std::size_t edge_type, std::uint64_t edges);

}  // namespace troupe::gpu
