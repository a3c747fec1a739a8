#include "runtime/base/saturating.hpp"
#include "runtime/feature/cache_policies.hpp"
#include "runtime/job/columns.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/memory_facts.hpp"
#include "runtime/job/walk_positives.hpp"

#include <algorithm>
#include <numeric>

namespace troupe {
namespace {

/// Ends of the pairs and of drawn ones: as global ids, as candidates and as places in the batch.
std::uint64_t pairs_of_walks(const MemoryFacts& of) {
  if (!of.job.task.from_walks) {
    return 0;
  }
  const auto& walk = of.job.task.walk;
  const auto walks = times(of.job.sample.batch_size, walk.per_seed);
  return times(times(walks, most_pairs_of_walk(walk)), 64 + 64 * of.job.task.negatives.drawn());
}

}  // namespace

std::uint64_t batches_of_rank(const MemoryFacts& of) {
  const auto all = divide_up(std::max(of.largest, std::uint64_t{1}), of.job.sample.batch_size);
  return divide_up(all, std::max(of.plan.world, 1U));
}

std::uint64_t memory_in_flight(const MemoryFacts& of, std::uint64_t one, std::uint64_t counted) {
  const auto per_rank = batches_of_rank(of);
  const auto fixed = of.job.cluster.batches_ahead();
  const auto ahead = (fixed > 0 ? fixed : AutoBatches::first) + std::uint64_t{1};
  const auto sure = times(one, std::min(ahead, per_rank));
  if (fixed > 0) {
    return sure;
  }
  const auto extra = std::min<std::uint64_t>(AutoBatches::most - AutoBatches::first,
                                             per_rank - std::min(ahead, per_rank));
  const auto whole = std::max<std::uint64_t>(1, counted);
  return plus(sure, std::min(times(one, extra), proportion(AutoBatches::extra_bytes, one, whole)));
}

std::uint64_t memory_of_batches(const MemoryFacts& of) {
  std::uint64_t rows = 0;
  std::uint64_t stored = 0;
  for (std::size_t t = 0; t < of.reach.nodes.size(); ++t) {
    const auto& features = of.graph.node_types[t].features;
    if (features && of.job.features.collect) {
      rows = plus(rows, matrix_bytes(of.reach.nodes[t], features->cols));
      stored = plus(stored, times(of.reach.nodes[t], features->row_bytes()));
    }
  }
  for (std::size_t e = 0; e < of.reach.edges.size() && of.job.sample.edge_data.entries; ++e) {
    if (const auto& features = of.graph.edge_types[e].features) {
      rows = plus(rows, matrix_bytes(of.reach.edges[e], features->cols));
      stored = plus(stored, times(of.reach.edges[e], features->row_bytes()));
    }
  }
  const auto columns = wanted_columns(of.job, of.graph);
  const auto add_columns = [&](TableName::Kind kind, const std::vector<std::uint64_t>& reached) {
    for (std::size_t t = 0; t < reached.size(); ++t) {
      const auto bytes = times(reached[t], column_bytes(columns, kind, t));
      rows = plus(rows, bytes);
      stored = plus(stored, bytes);
    }
  };
  add_columns(TableName::Kind::node_column, of.reach.nodes);
  add_columns(TableName::Kind::edge_column, of.reach.edges);
  const auto nodes =
      std::accumulate(of.reach.nodes.begin(), of.reach.nodes.end(), std::uint64_t{0}, plus);
  const auto edges =
      std::accumulate(of.reach.edges.begin(), of.reach.edges.end(), std::uint64_t{0}, plus);
  // Rows as they come and as they are used; ids, numbers and the index; lists as they come, in place.
  const std::uint64_t per_node = of.job.sample.in_trees() ? 104 : 80;
  const auto ids =
      plus(times(nodes, per_node), times(edges, 24 + 2 * of.job.sample.edge_data.bytes()));
  // The walks themselves, with the walkers and their candidates.
  const auto walks = of.job.task.walks() ? times(of.reach.asked, 64) : pairs_of_walks(of);
  const auto one = plus(plus(rows, of.remote(stored)), plus(ids, walks));
  // What a finished batch counts as, against its bytes here.
  const auto counted =
      plus(rows, plus(times(nodes, sizeof(NodeId)), times(edges, sizeof(std::uint32_t))));
  return memory_in_flight(of, one, counted);
}

std::uint64_t memory_of_batches_ahead(const MemoryFacts& of) {
  const auto* policy = find_kind(cache_policies(), of.job.features.cache_policy);
  if (of.parts() == 1 || policy == nullptr || policy->policy != CacheOptions::Policy::future) {
    return 0;
  }
  // Of this epoch and the next.
  const auto lookahead =
      std::min<std::uint64_t>(of.job.features.cache_lookahead, 2 * batches_of_rank(of));
  std::uint64_t nodes = 0;
  std::uint64_t rows = 0;  // that are known or kept at once
  for (std::size_t t = 0; t < of.reach.nodes.size(); ++t) {
    const auto& type = of.graph.node_types[t];
    nodes = plus(nodes, of.reach.nodes[t]);
    const auto kept =
        type.features ? memory_of_cached_rows(of) / (type.features->row_bytes() + 40) : 0;
    rows = plus(rows, std::min(plus(times(of.reach.nodes[t], lookahead), kept), type.count));
  }
  const auto edges =
      std::accumulate(of.reach.edges.begin(), of.reach.edges.end(), std::uint64_t{0}, plus);
  const auto walks = of.job.task.walks() ? times(of.reach.asked, 8) : pairs_of_walks(of);
  const bool in_trees = of.job.sample.in_trees();
  const std::uint64_t per_node = in_trees ? 16 : 12;
  const auto one = plus(plus(times(nodes, per_node + sizeof(std::uint32_t)),
                             times(edges, 8 + of.job.sample.edge_data.bytes())),
                        walks);
  // All may grow at once, and their tables are kept.
  const auto growing = times(plus(times(nodes, in_trees ? 104 : 80), times(edges, 16)), lookahead);
  auto lists = times(one, lookahead);
  if (of.job.cluster.channel_budget > 0) {
    lists = std::min(lists, plus(of.job.cluster.channel_budget, one));
  }
  return plus(plus(lists, growing), times(rows, 144 + std::max<std::uint64_t>(8, lookahead / 2)));
}

}  // namespace troupe
