#pragma once
/// \file contract.hpp
/// A graph whose vertices are the clusters of another one.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/partition/adjacency.hpp"
#include "runtime/partition/constraints.hpp"
#include "runtime/partition/metis.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// The vertices of each cluster; clusters are numbered by their first vertex.
class ClusterMembers {
 public:
  /// \param labels  [vertices], each below their number
  explicit ClusterMembers(std::span<const std::uint32_t> labels);

  std::uint64_t clusters() const { return offsets_.size() - 1; }
  /// In ascending order.
  std::span<const std::uint32_t> members(std::uint64_t cluster) const {
    return std::span(vertices_).subspan(offsets_[cluster],
                                        offsets_[cluster + 1] - offsets_[cluster]);
  }
  /// Number of the cluster of every vertex.
  std::span<const std::uint32_t> cluster_of() const { return cluster_of_; }

 private:
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint32_t> vertices_;
  std::vector<std::uint32_t> cluster_of_;
};

/// How many other clusters the edges of each cluster lead to: [clusters].
/// \cost one pass over the lists
std::vector<std::uint64_t> count_cluster_edges(const Adjacency& graph,
                                               const ClusterMembers& clusters, Executor& executor);

/// The clusters as vertices: edges between two clusters become one that weighs as many, vertices
/// weigh what theirs do. Where all weights together pass 2^30 they are divided.
/// \param degrees  what count_cluster_edges gave
/// \errors unimplemented: more than 2^31 - 1 clusters or edges between them, which METIS cannot count
Result<WeightedGraph> contract(const Adjacency& graph, const Constraints& constraints,
                               const ClusterMembers& clusters,
                               std::span<const std::uint64_t> degrees, Executor& executor);

}  // namespace troupe
