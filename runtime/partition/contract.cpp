#include "runtime/partition/contract.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/partition/label_tally.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace troupe {
namespace {

constexpr std::uint64_t most_weight = std::uint64_t{1} << 30;
constexpr std::uint64_t clusters_per_task = 256;

/// Calls `visit(cluster, tally)` for every cluster, in parallel: the tally counts the edges that
/// lead to each other cluster.
template <class Visit>
void for_each_cluster(const Adjacency& graph, const ClusterMembers& clusters, Executor& executor,
                      const Visit& visit) {
  const auto cluster_of = clusters.cluster_of();
  const auto tasks = (clusters.clusters() + clusters_per_task - 1) / clusters_per_task;
  executor.parallel_for(tasks, [&](std::size_t task) {
    LabelTally tally;
    const auto end = std::min(clusters.clusters(), (task + 1) * clusters_per_task);
    for (auto cluster = task * clusters_per_task; cluster < end; ++cluster) {
      std::uint64_t entries = 0;
      for (const auto v : clusters.members(cluster)) {
        entries += graph.degree(v);
      }
      tally.reset(std::min(entries, clusters.clusters()));
      for (const auto v : clusters.members(cluster)) {
        graph.for_each_neighbour(v, [&](std::uint64_t u) {
          if (cluster_of[u] != cluster) {
            tally.add(cluster_of[u]);
          }
        });
      }
      visit(cluster, tally);
    }
  });
}

/// Weights of one constraint of all clusters, together at most `most_weight`.
void add_weights(const Constraints& constraints, const ClusterMembers& clusters,
                 std::vector<std::int32_t>& out) {
  std::vector<std::uint64_t> sum(constraints.size());
  std::vector<std::uint64_t> weights(constraints.size());
  out.reserve(clusters.clusters() * constraints.size());
  for (std::uint64_t cluster = 0; cluster < clusters.clusters(); ++cluster) {
    std::ranges::fill(sum, 0U);
    for (const auto v : clusters.members(cluster)) {
      constraints.weights(v, weights);
      std::ranges::transform(sum, weights, sum.begin(), std::plus{});
    }
    for (std::size_t c = 0; c < sum.size(); ++c) {
      out.push_back(static_cast<std::int32_t>(sum[c] / (constraints.total(c) / most_weight + 1)));
    }
  }
}

}  // namespace

ClusterMembers::ClusterMembers(std::span<const std::uint32_t> labels) : cluster_of_(labels.size()) {
  constexpr auto none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> number(labels.size(), none);
  offsets_.push_back(0);
  for (std::uint64_t v = 0; v < labels.size(); ++v) {
    auto& cluster = number[labels[v]];
    if (cluster == none) {
      cluster = static_cast<std::uint32_t>(offsets_.size() - 1);
      offsets_.push_back(0);
    }
    cluster_of_[v] = cluster;
    ++offsets_[cluster + std::uint64_t{1}];
  }
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  vertices_.resize(labels.size());
  std::vector<std::uint64_t> next(offsets_.begin(), offsets_.end() - 1);
  for (std::uint64_t v = 0; v < labels.size(); ++v) {
    vertices_[next[cluster_of_[v]]++] = static_cast<std::uint32_t>(v);
  }
}

std::vector<std::uint64_t> count_cluster_edges(const Adjacency& graph,
                                               const ClusterMembers& clusters, Executor& executor) {
  std::vector<std::uint64_t> degrees(clusters.clusters());
  for_each_cluster(graph, clusters, executor, [&](std::uint64_t cluster, const LabelTally& tally) {
    degrees[cluster] = tally.size();
  });
  return degrees;
}

Result<WeightedGraph> contract(const Adjacency& graph, const Constraints& constraints,
                               const ClusterMembers& clusters,
                               std::span<const std::uint64_t> degrees, Executor& executor) {
  WeightedGraph result;
  const auto entries = std::reduce(degrees.begin(), degrees.end(), std::uint64_t{0});
  TROUPE_RETURN_IF_ERROR(check_metis_index("multilevel", clusters.clusters(), "clusters"));
  TROUPE_RETURN_IF_ERROR(
      check_metis_index("multilevel", entries, "edges between clusters of nodes"));
  result.offsets.assign(1, 0);
  for (const auto degree : degrees) {
    result.offsets.push_back(result.offsets.back() + static_cast<std::int32_t>(degree));
  }
  result.neighbours.resize(entries);
  result.edge_weights.resize(entries);
  const auto divisor = graph.entries() / most_weight + 1;
  for_each_cluster(graph, clusters, executor, [&](std::uint64_t cluster, const LabelTally& tally) {
    auto at = static_cast<std::size_t>(result.offsets[cluster]);
    tally.for_each([&](std::uint64_t other, std::uint64_t count) {
      result.neighbours[at] = static_cast<std::int32_t>(other);
      result.edge_weights[at] =
          static_cast<std::int32_t>(std::max<std::uint64_t>(1, count / divisor));
      ++at;
    });
  });
  add_weights(constraints, clusters, result.vertex_weights);
  return result;
}

}  // namespace troupe
