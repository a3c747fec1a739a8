#pragma once
/// \file clustering.hpp
/// Clusters of vertices that are close together and not too heavy, by label propagation (Raghavan,
/// Albert, Kumara 2007) with limits of size (Meyerhenke, Sanders, Schulz: "Partitioning complex
/// networks via size-constrained clustering", SEA 2014).
#include "runtime/base/executor.hpp"
#include "runtime/partition/adjacency.hpp"
#include "runtime/partition/constraints.hpp"
#include "runtime/partition/label_tally.hpp"
#include "runtime/partition/vertex_blocks.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// Every vertex begins alone. Each pass gives every vertex the label that most of its edges lead to
/// and whose cluster has room for it; of equals its own, then one drawn by a hash of both.
/// Threads:    one at a time; passes use the executor's
/// Guarantees: equal for any number of threads
/// Borrows:    graph, constraints, executor
/// \cost 4 bytes per vertex and 8 per vertex and constraint
class Clustering {
 public:
  /// \requires fewer than 2^32 vertices
  Clustering(const Adjacency& graph, const Constraints& constraints, Executor& executor);
  Clustering(const Clustering&) = delete;
  Clustering& operator=(const Clustering&) = delete;

  /// Passes over all vertices until few change, `most_passes` at most.
  /// \param limits  what a cluster may weigh under each constraint; never below earlier ones
  void propagate(std::span<const std::uint64_t> limits, std::uint32_t most_passes);
  /// Puts together vertices that stayed alone: those whose edges lead to the same full cluster, and
  /// those without edges. Within the limits of the last propagate().
  void group_singles();

  /// Cluster of every vertex: the number of one of its vertices.
  std::span<const std::uint32_t> labels() const { return labels_; }

 private:
  struct Scratch {
    LabelTally tally;
    std::vector<std::uint64_t> weights;
    std::vector<std::uint32_t> choices;
  };
  void score_chunk(std::uint64_t block, std::uint64_t stream);
  std::uint64_t commit(std::uint64_t block);
  std::uint32_t best_label(std::uint64_t v, Scratch& scratch, bool with_room) const;
  bool has_room(std::uint32_t label, std::span<const std::uint64_t> weights) const;
  void move(std::uint64_t v, std::uint32_t to, std::span<const std::uint64_t> weights);

  const Adjacency& graph_;
  const Constraints& constraints_;
  Executor& executor_;
  const VertexBlocks blocks_;
  std::vector<std::uint32_t> labels_;
  std::vector<std::uint64_t> loads_;  ///< [label][constraint]
  std::vector<std::uint64_t> limits_;
  std::vector<Scratch> scratch_;  ///< [stream]
};

}  // namespace troupe
