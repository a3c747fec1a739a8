#include "runtime/base/saturating.hpp"
#include "runtime/graph/alias_tables.hpp"
#include "runtime/graph/list_index.hpp"
#include "runtime/graph/list_tables.hpp"
#include "runtime/job/fanout.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/memory_facts.hpp"
#include "runtime/job/task_rules.hpp"
#include "runtime/sample/choice/choices.hpp"

#include <algorithm>

namespace troupe {
namespace {

/// Of negatives by degree: each node of a slice, at both ends.
std::uint64_t edge_ends(const MemoryFacts& of, const MemoryLoad& load) {
  const auto* links = links_by_degree(of.job, of.graph);
  if (links == nullptr) {
    return 0;
  }
  std::uint64_t nodes = 0;  // of a part
  for (const EdgeTypeId edge_type : edge_types_of(*links)) {
    const auto& type = of.graph.edge_types[raw(edge_type)];
    const auto ends = plus(of.graph.node_types[raw(type.source)].count,
                           of.graph.node_types[raw(type.destination)].count);
    nodes = plus(nodes, plus(ends / of.parts(), 2));
  }
  const auto loaded = plus(
      load.mapped, of.job.partition.replicated_topology ? times(of.parts(), load.topologies) : 0);
  return times(times(nodes, sizeof(EdgeEnd)), loaded);
}

std::uint64_t tables_of_choice(const MemoryFacts& of, const MemoryLoad& load) {
  const auto* choice = find_kind(choice_kinds(), of.job.sample.choice);
  if (choice == nullptr || !reads_entries(*choice)) {
    return 0;
  }
  std::uint64_t edges = 0;
  bool times_too = false;
  std::uint64_t id_bytes = 4;
  for (const auto type : drawn_edge_types(of.job, of.graph)) {
    const auto& info = of.graph.edge_types[raw(type)];
    edges = plus(edges, info.count);
    times_too = times_too || info.has_times;
    const auto end = info.neighbour_type(of.job.sample.edge_dir);
    id_bytes = std::max(id_bytes, neighbour_original_bytes(of.graph.node_types[raw(end)].count));
  }
  auto of_part = of.job.partition.halo.hops > 0 ? edges : plus(edges / of.parts(), 1);
  if (choice->needs_weights && !of.facts.weight_bytes.empty()) {
    of_part = std::ranges::max(of.facts.weight_bytes) / sizeof(float);
  }
  const auto tables =
      plus(times(of_part, load.mapped),
           of.job.partition.replicated_topology ? times(edges, load.topologies) : 0);
  const auto by_weight = alias_bytes + (times_too ? weight_sum_bytes : 0);
  return times(tables, choice->needs_weights ? by_weight : id_bytes);
}

/// Indexes of the lists of nodes with many edge types.
std::uint64_t list_indexes(const MemoryFacts& of, const MemoryLoad& load) {
  std::uint64_t bytes = 0;
  for (std::size_t t = 0; t < of.graph.node_types.size(); ++t) {
    std::uint64_t types = 0;
    std::uint64_t edges = 0;
    for (const auto& type : of.graph.edge_types) {
      const bool has_lists = type.list_type(of.job.sample.edge_dir) == static_cast<NodeTypeId>(t);
      types += has_lists ? 1U : 0U;
      edges = plus(edges, has_lists ? type.count : 0);
    }
    if (types < many_edge_types) {
      continue;
    }
    const auto nodes = of.graph.node_types[t].count;
    const auto of_part = plus(nodes / of.parts(), 1);
    bytes = plus(
        bytes, times(list_index_bytes(of_part, times(of_part, types), plus(edges / of.parts(), 1)),
                     load.mapped));
    if (of.job.partition.replicated_topology) {
      bytes =
          plus(bytes, times(list_index_bytes(nodes, times(nodes, types), edges), load.topologies));
    }
  }
  return bytes;
}

}  // namespace

std::uint64_t memory_of_store(const MemoryFacts& of, const MemoryLoad& load) {
  const bool copied = of.job.dataset.memory != StoreMemory::mapped;  // auto may copy
  const auto mapped = copied ? load.mapped : std::min(load.mapped, of.parts());
  std::uint64_t bytes = times(of.plan.part_bytes, mapped);
  if (of.job.partition.replicated_topology) {
    bytes = plus(bytes, times(of.plan.list_bytes, load.topologies));
  }
  return bytes;
}

std::uint64_t memory_of_tables(const MemoryFacts& of, const MemoryLoad& load) {
  return plus(plus(tables_of_choice(of, load), edge_ends(of, load)), list_indexes(of, load));
}

std::uint64_t memory_of_seeds(const MemoryFacts& of, const MemoryLoad& load) {
  const auto outputs = times(of.scored, score_cols(of.job) * float_bytes + 24);
  const auto all =
      plus(times(of.seeds, 48), times(outputs, 2 + (load.directs ? std::uint64_t{2} : 0)));
  const bool ranks = of.job.task.predicts_links() && load.directs;
  return plus(plus(all, of.pair_bytes),
              ranks ? times(times(of.scored, score_cols(of.job)), 64) : 0);
}

std::uint64_t memory_of_cached_rows(const MemoryFacts& of) {
  std::uint64_t all_rows = 0;
  for (const auto& type : of.graph.node_types) {
    if (type.features) {
      all_rows = plus(all_rows, times(type.count, type.features->row_bytes() + 40));
    }
  }
  std::uint64_t rows = 0;
  if (of.job.features.cache_policy != "none") {
    rows = of.job.features.cache_ratio > 0
               ? static_cast<std::uint64_t>(of.job.features.cache_ratio *
                                            static_cast<double>(all_rows))
               : of.job.features.cache_bytes;
  }
  return std::min(rows, all_rows);
}

std::uint64_t memory_of_caches(const MemoryFacts& of, const MemoryLoad& load) {
  if (of.parts() == 1) {
    return 0;
  }
  const auto lists = std::min(of.job.sample.cache_bytes, times(of.plan.list_bytes, 2));
  return times(load.paths + load.evaluators, plus(memory_of_cached_rows(of), lists));
}

}  // namespace troupe
