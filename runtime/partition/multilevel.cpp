#include "runtime/partition/multilevel.hpp"

#include "runtime/partition/clustering.hpp"
#include "runtime/partition/contract.hpp"
#include "runtime/partition/metis.hpp"
#include "runtime/partition/rebalance.hpp"
#include "runtime/partition/refine.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace troupe {
namespace {

constexpr std::uint32_t passes_per_size = 5;
constexpr std::uint32_t refining_passes = 10;
constexpr std::uint64_t first_size = 16;  ///< average vertices in a cluster at first, at most

/// What a cluster may weigh: `size` average vertices, but no more than a part's share of clusters
/// that METIS can still balance.
std::vector<std::uint64_t> cluster_limits(const Constraints& constraints, std::uint32_t parts,
                                          std::uint64_t size) {
  std::vector<std::uint64_t> limits;
  for (std::size_t c = 0; c < constraints.size(); ++c) {
    const auto total = static_cast<double>(constraints.total(c));
    const auto of_size =
        total * static_cast<double>(size) / static_cast<double>(constraints.vertices());
    const auto of_part = total / (16.0 * parts);
    limits.push_back(1 + static_cast<std::uint64_t>(std::min(of_size, of_part)));
  }
  return limits;
}

/// Clusters, and to how many others each leads.
struct Coarse {
  ClusterMembers clusters;
  std::vector<std::uint64_t> degrees;

  std::uint64_t entries() const {
    return std::reduce(degrees.begin(), degrees.end(), std::uint64_t{0});
  }
};

Coarse look(const Adjacency& graph, const Clustering& clustering, Executor& executor) {
  ClusterMembers clusters(clustering.labels());
  auto degrees = count_cluster_edges(graph, clusters, executor);
  return {std::move(clusters), std::move(degrees)};
}

/// Larger and larger clusters, until few enough edges lead from one to another.
Coarse coarsen(const Adjacency& graph, const Constraints& constraints, const AssignOptions& options,
               Executor& executor) {
  const auto most_entries = std::min<std::uint64_t>(graph.entries() / 8, std::uint64_t{1} << 30);
  Clustering clustering(graph, constraints, executor);
  auto size = first_size;
  auto limits = cluster_limits(constraints, options.parts, size);
  for (auto before = graph.entries();;) {
    clustering.propagate(limits, passes_per_size);
    const auto entries = look(graph, clustering, executor).entries();
    // Where larger clusters hardly help, sizes in between are no use either.
    size *= entries > before / 4 * 3 ? 64U : 4U;
    before = entries;
    auto next = cluster_limits(constraints, options.parts, size);
    if (entries <= most_entries || next == limits) {
      break;
    }
    limits = std::move(next);
  }
  clustering.group_singles();
  return look(graph, clustering, executor);
}

}  // namespace

Result<std::vector<std::uint32_t>> assign_multilevel(const Adjacency& graph,
                                                     const Constraints& constraints,
                                                     const AssignOptions& options,
                                                     Executor& executor) {
  constexpr auto too_many = std::numeric_limits<std::uint32_t>::max();
  if (graph.vertices() >= too_many) {
    return Error(Errc::unimplemented,
                 fmt::format("multilevel: expected fewer than {} nodes, found {}\ntry: \"fennel\"",
                             too_many, graph.vertices()));
  }
  std::vector<std::uint32_t> part_of(graph.vertices(), 0);
  if (options.parts == 1) {
    return part_of;
  }
  {
    const auto coarse = coarsen(graph, constraints, options, executor);
    TROUPE_ASSIGN_OR_RETURN(
        auto small, contract(graph, constraints, coarse.clusters, coarse.degrees, executor));
    TROUPE_ASSIGN_OR_RETURN(const auto part_of_cluster,
                            cut_weighted_graph(small, constraints.size(), options));
    const auto cluster_of = coarse.clusters.cluster_of();
    for (std::uint64_t v = 0; v < part_of.size(); ++v) {
      part_of[v] = part_of_cluster[cluster_of[v]];
    }
  }
  rebalance(graph, constraints, part_of, options.parts);
  refine(graph, constraints, part_of, options.parts, refining_passes, executor);
  return part_of;
}

}  // namespace troupe
