#include "runtime/job/plan.hpp"

#include "runtime/base/even_share.hpp"
#include "runtime/base/id_list.hpp"
#include "runtime/base/ranked_set.hpp"
#include "runtime/base/saturating.hpp"
#include "runtime/job/columns.hpp"
#include "runtime/job/embedding_rules.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/memory_plan.hpp"
#include "runtime/job/reach.hpp"
#include "runtime/job/sample_options.hpp"
#include "runtime/job/walk_rules.hpp"
#include "runtime/nn/catalog.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace troupe {
namespace {

/// What the bounds need to know of a graph, all node and edge types together.
struct Counts {
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint64_t id_bytes = 4;              ///< of a neighbour in lists
  std::uint64_t seeds = 0;                 ///< of an epoch
  std::uint64_t link_types = 1;            ///< each with a short batch of its own
  std::vector<std::uint64_t> batch_seeds;  ///< of a batch, by node type
};

Counts count(const Job& job, const GraphInfo& graph) {
  Counts counts;
  for (const NodeTypeInfo& type : graph.node_types) {
    counts.nodes = plus(counts.nodes, type.count);
  }
  for (const EdgeTypeInfo& type : graph.edge_types) {
    counts.edges = plus(counts.edges, type.count);
  }
  counts.id_bytes = counts.nodes <= (std::uint64_t{1} << 32) ? 4 : 8;
  counts.batch_seeds.resize(graph.node_types.size());
  if (const auto* links = training_links(job, graph); links != nullptr) {
    counts.seeds = links->count;
    counts.link_types = std::max<std::uint64_t>(1, links->edge_types.size());
    counts.batch_seeds = seeds_of_batch(job, graph, *links);
    return counts;
  }
  const SplitInfo* split = graph.find_split(job.dataset.split);
  if (split == nullptr) {
    return counts;
  }
  const auto train = split->roles.find("train");
  if (train != split->roles.end() && raw(train->second.node_type) < graph.node_types.size()) {
    counts.seeds = train->second.count;
    counts.batch_seeds = seeds_of_batch(job, graph, train->second);
  }
  return counts;
}

/// Processes that hold a part, of the part that most hold.
std::uint64_t most_holders(const Layout& layout) {
  std::vector<std::uint64_t> holders(std::max(1U, layout.parts));
  for (const auto& process : layout.processes) {
    for (const auto part : process.serves) {
      holders.at(raw(part)) += 1;
    }
  }
  return std::ranges::max(holders);
}

/// Bytes that come to the host of a rank for a batch, of the rank for which these are most.
/// \param fetched  bytes that are read of the parts for a batch
/// \param whole    bytes of the batch as another process sends it to its rank
std::uint64_t bytes_from_other_hosts(const Layout& layout, std::uint64_t fetched,
                                     std::uint64_t whole) {
  std::map<HostId, std::set<PartId>> near;
  std::map<Rank, HostId> host_of;
  std::set<Rank> sampled_elsewhere;
  for (const auto& process : layout.processes) {
    near[process.host].insert(process.maps.begin(), process.maps.end());
    sampled_elsewhere.insert(process.samples_for.begin(), process.samples_for.end());
    for (const Rank rank : process.ranks) {
      host_of[rank] = process.host;
    }
  }
  std::uint64_t most = 0;
  for (const auto& process : layout.processes) {
    const auto far = layout.parts - near[process.host].size();
    const auto from_parts = proportion(fetched, far, layout.parts);
    for (const Rank rank : process.samples_for) {
      most = std::max(most, plus(from_parts, host_of[rank] == process.host ? 0 : whole));
    }
    for (const Rank rank : process.ranks) {
      most = std::max(most, sampled_elsewhere.contains(rank) ? 0 : from_parts);
    }
  }
  return most;
}

BatchCost batch_cost(const Job& job, const GraphInfo& graph, const Counts& counts,
                     const Layout& layout) {
  const Reach most = reach_of_batch(job, graph, counts.batch_seeds);
  BatchCost cost;
  std::uint64_t moved = times(
      most.asked, 8 + (job.sample.in_trees() ? 4U : 0U) + (job.sample.time.given() ? 8U : 0U));
  const auto columns = wanted_columns(job, graph);
  const auto add_columns = [&](TableName::Kind kind, std::size_t type, std::uint64_t rows) {
    const auto bytes = column_bytes(columns, kind, type);
    cost.feature_bytes = plus(cost.feature_bytes, times(rows, bytes));
    moved = plus(moved, times(rows, bytes == 0 ? 0 : plus(8, bytes)));
  };
  for (std::size_t t = 0; t < most.nodes.size(); ++t) {
    add_columns(TableName::Kind::node_column, t, most.nodes[t]);
    const auto& type = graph.node_types[t];
    const bool collected = type.features.has_value() && job.features.collect;
    const auto cols = collected ? type.features->cols : 0;
    const auto stored = collected ? times(cols, size_bytes(type.features->dtype)) : 0;
    cost.nodes.push_back({type.name, most.nodes[t]});
    cost.max_nodes = plus(cost.max_nodes, most.nodes[t]);
    cost.feature_bytes = plus(cost.feature_bytes, times(most.nodes[t], times(cols, sizeof(float))));
    moved = plus(moved, times(most.nodes[t], plus(8, stored)));
  }
  if (const auto tables = embedding_plan(job, graph)) {
    const std::uint64_t parts = job.partition.parts;
    const auto copies = plus(1, most_holders(layout));
    for (const auto& table : tables->tables) {
      const auto rows = times(most.nodes[raw(table.node_type)],
                              plus(sizeof(NodeId), times(table.dim, sizeof(float))));
      cost.learned_bytes = plus(cost.learned_bytes, times(rows, copies));
    }
    cost.learned_messages = times(parts, copies);
  }
  for (std::size_t e = 0; e < most.edges.size(); ++e) {
    cost.edges.push_back({graph.edge_types[e].name, most.edges[e]});
    cost.max_edges = plus(cost.max_edges, most.edges[e]);
    add_columns(TableName::Kind::edge_column, e, most.edges[e]);
    if (const auto& type = graph.edge_types[e]; job.sample.edge_data.entries && type.features) {
      const auto cols = type.features->cols;
      cost.feature_bytes =
          plus(cost.feature_bytes, times(most.edges[e], times(cols, sizeof(float))));
      moved = plus(moved, times(most.edges[e], plus(8, type.features->row_bytes())));
    }
  }
  const std::uint64_t per_edge = counts.id_bytes + job.sample.edge_data.bytes();
  moved = plus(moved, times(cost.max_edges, per_edge));
  const auto lists =
      times(cost.max_edges, 2 * sizeof(std::uint32_t) + job.sample.edge_data.bytes());
  const auto ids = times(cost.max_nodes, 2 * sizeof(NodeId));
  cost.wire_bytes =
      bytes_from_other_hosts(layout, moved, plus(cost.feature_bytes, plus(ids, lists)));
  return cost;
}

/// Bytes of an edge in neighbour lists.
std::uint64_t list_entry_bytes(const EdgeTypeInfo& type, const Counts& counts) {
  return counts.id_bytes + edge_data_of(type).stored().bytes();
}

/// Neighbour lists of the whole graph.
std::uint64_t list_bytes(const Job& job, const GraphInfo& graph, const Counts& counts) {
  std::uint64_t bytes = 0;
  for (const EdgeTypeInfo& type : graph.edge_types) {
    const auto end = type.list_type(job.sample.edge_dir);
    const std::uint64_t rows =
        raw(end) < graph.node_types.size() ? graph.node_types[raw(end)].count : 0;
    bytes = plus(bytes, times(plus(rows, job.partition.parts), 8));
    bytes = plus(bytes, times(type.count, list_entry_bytes(type, counts)));
  }
  return bytes;
}

/// Of a row of each.
std::uint64_t bytes_of_columns(const std::vector<ColumnInfo>& columns) {
  std::uint64_t bytes = 0;
  for (const auto& column : columns) {
    bytes += column.row_bytes();
  }
  return bytes;
}

/// Arrays of all parts: lists, original ids, directories, features of nodes and edges, labels, and
/// the ids of other parts' nodes that the lists name. Halos hold all lists in every part at most.
std::uint64_t store_bytes(const Job& job, const GraphInfo& graph, const Counts& counts) {
  const std::uint64_t parts = job.partition.parts;
  std::uint64_t bytes = list_bytes(job, graph, counts);
  std::uint64_t widest = 0;  // feature row
  if (job.partition.halo.hops > 0) {
    bytes = times(bytes, parts);
  }
  for (const NodeTypeInfo& type : graph.node_types) {
    const std::uint64_t row = type.features.has_value()
                                  ? times(type.features->cols, size_bytes(type.features->dtype))
                                  : 0;
    widest = std::max(widest, row);
    std::uint64_t labels = 0;
    if (type.labels.has_value()) {
      labels = type.labels->kind == LabelInfo::Kind::classes ? 8 : times(type.labels->classes, 4);
    }
    bytes = plus(bytes, times(type.count, plus(plus(8 + id_width_bytes(type.count), labels), row)));
    bytes = plus(bytes, times(type.count, bytes_of_columns(type.columns)));
  }
  for (const EdgeTypeInfo& type : graph.edge_types) {
    bytes = plus(bytes, times(type.count, type.features ? type.features->row_bytes() : 0));
    bytes = plus(bytes, times(type.count, bytes_of_columns(type.columns)));
  }
  if (job.partition.halo.hops > 0 || job.partition.halo.features) {
    bytes = plus(bytes, times(halo_index_bytes(graph), parts));
  }
  const std::uint64_t others = counts.nodes - counts.nodes / parts;
  const std::uint64_t halo = parts == 1 ? 0 : std::min(others, counts.edges / parts);
  const auto per_node = plus(16, job.partition.halo.features ? widest : 0);
  return plus(bytes, times(times(halo, per_node), parts));
}

std::uint64_t count_parameters(const Job& job, const GraphInfo& graph) {
  Job fitted = job;
  fit_to_graph(fitted, graph);
  const auto model = nn::make_network(fitted.model);
  return model.ok() ? (*model)->num_parameters() : 0;
}

/// Those of an epoch, as SeedOrder makes them; at most so many where links have several types.
void count_batches(const Job& job, const Counts& counts, Plan& plan) {
  const BatchSizes sizes = batch_sizes(job.sample);
  const auto short_ones = sizes.last == ShortBatch::kept ? counts.link_types - 1 : 0;
  const auto batches_of = [&](std::uint64_t seeds) {
    return plus(sizes.batches_of(seeds), short_ones);
  };
  if (job.sample.seed_order != "local") {
    plan.batches_per_epoch = batches_of(counts.seeds);
    plan.steps_per_epoch = divide_up(plan.batches_per_epoch, plan.world);
    return;
  }
  for (std::uint32_t rank = 0; rank < plan.world; ++rank) {
    const auto share = even_share(counts.seeds, plan.world, static_cast<Rank>(rank));
    plan.batches_per_epoch = plus(plan.batches_per_epoch, batches_of(share.size));
    plan.steps_per_epoch = std::max(plan.steps_per_epoch, batches_of(share.size));
  }
}

}  // namespace

std::uint64_t halo_index_bytes(const GraphInfo& graph) {
  std::uint64_t bytes = 0;
  for (const NodeTypeInfo& type : graph.node_types) {
    bytes = plus(bytes, 2 * RankedSet::bytes_below(type.count));
  }
  return bytes;
}

Plan make_plan(const Job& job, const GraphInfo& graph, const GraphFacts& facts) {
  const Counts counts = count(job, graph);
  Plan plan;
  plan.layout = make_layout(job);
  plan.world = job.cluster.world();
  plan.parameters = count_parameters(job, graph);
  count_batches(job, counts, plan);
  plan.batch = batch_cost(job, graph, counts, plan.layout);
  plan.store_bytes = store_bytes(job, graph, counts);
  plan.part_bytes = plus(plan.store_bytes / job.partition.parts, 1);
  if (!facts.part_bytes.empty()) {
    plan.store_bytes =
        std::accumulate(facts.part_bytes.begin(), facts.part_bytes.end(), std::uint64_t{0}, plus);
    plan.part_bytes = std::ranges::max(facts.part_bytes);
  }
  plan.list_bytes = list_bytes(job, graph, counts);
  plan.memory = memory_plan(job, graph, facts, plan);
  plan.process_bytes = plan.memory.bytes();
  return plan;
}

}  // namespace troupe
