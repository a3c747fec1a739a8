#include "runtime/job/plan.hpp"

#include "runtime/job/fanout.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/nn/model.hpp"

#include <algorithm>

namespace troupe {
namespace {

constexpr std::uint64_t unlimited = ~std::uint64_t{0};

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? unlimited : sum;
}

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? unlimited : product;
}

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// `total` times `part / whole`, rounded down, without overflow. \requires part <= whole
std::uint64_t share(std::uint64_t total, std::uint64_t part, std::uint64_t whole) {
  return total / whole * part + total % whole * part / whole;
}

/// What the bounds need to know of a graph, all node and edge types together.
struct Counts {
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint64_t id_bytes = 4;  ///< of a neighbour in lists
  SplitInfo::Role train;
};

Counts count(const Job& job, const GraphInfo& graph) {
  Counts counts;
  for (const NodeTypeInfo& type : graph.node_types) {
    counts.nodes = add(counts.nodes, type.count);
  }
  for (const EdgeTypeInfo& type : graph.edge_types) {
    counts.edges = add(counts.edges, type.count);
  }
  counts.id_bytes = counts.nodes <= (std::uint64_t{1} << 32) ? 4 : 8;
  const SplitInfo* split = graph.find_split(job.dataset.split);
  if (split == nullptr) {
    return counts;
  }
  const auto train = split->roles.find("train");
  if (train != split->roles.end() && raw(train->second.node_type) < graph.node_types.size()) {
    counts.train = train->second;
  }
  return counts;
}

/// The most that one batch can touch, by type.
struct Reach {
  std::vector<std::uint64_t> nodes;
  std::vector<std::uint64_t> edges;
  std::uint64_t asked = 0;  ///< nodes whose neighbours are drawn, over all hops and edge types
};

/// The most edges that one hop draws along a type: its fanout per frontier node, and never more
/// than there are.
std::uint64_t most_drawn(const SampleJob& sample, std::int32_t fanout, std::uint64_t frontier,
                         std::uint64_t all, std::uint64_t before) {
  if (frontier == 0 || all == 0) {
    return 0;
  }
  const std::uint64_t drawn =
      fanout < 0 ? all : multiply(frontier, static_cast<std::uint64_t>(fanout));
  if (sample.replace && fanout >= 0) {
    return drawn;  // with repeats
  }
  const bool fresh = sample.frontier == Frontier::fresh;
  return std::min(drawn, fresh ? all - std::min(all, before) : all);
}

Reach reach(const SampleJob& sample, const GraphInfo& graph, const SplitInfo::Role& train) {
  const bool fresh = sample.frontier == Frontier::fresh;
  const bool in = sample.edge_dir == EdgeDir::in;
  const auto node_types = graph.node_types.size();
  Reach total{.nodes = std::vector<std::uint64_t>(node_types),
              .edges = std::vector<std::uint64_t>(graph.edge_types.size())};
  if (node_types == 0) {
    return total;
  }
  total.nodes[raw(train.node_type)] = std::min(sample.batch_size, train.count);
  auto frontier = total.nodes;
  for (const auto& fanout : fanout_by_hop(sample, graph)) {
    std::vector<std::uint64_t> found(node_types);
    for (std::size_t e = 0; e < graph.edge_types.size(); ++e) {
      const EdgeTypeInfo& type = graph.edge_types[e];
      const auto from = raw(in ? type.destination : type.source);
      const auto to = raw(in ? type.source : type.destination);
      const auto edges = most_drawn(sample, fanout[e], frontier[from], type.count, total.edges[e]);
      total.edges[e] = add(total.edges[e], edges);
      total.asked = add(total.asked, fanout[e] == 0 ? 0 : frontier[from]);
      found[to] = add(found[to], edges);
    }
    for (std::size_t t = 0; t < node_types; ++t) {
      const auto all = graph.node_types[t].count;
      const auto fresh_nodes = std::min(found[t], all - std::min(all, total.nodes[t]));
      total.nodes[t] = add(total.nodes[t], fresh_nodes);
      frontier[t] = fresh ? fresh_nodes : total.nodes[t];
    }
  }
  return total;
}

/// \param owners  processes that hold parts
BatchCost batch_cost(const Job& job, const GraphInfo& graph, const Counts& counts,
                     std::size_t owners) {
  const Reach most = reach(job.sample, graph, counts.train);
  BatchCost cost;
  std::uint64_t moved = multiply(most.asked, 8);
  for (std::size_t t = 0; t < most.nodes.size(); ++t) {
    const auto& type = graph.node_types[t];
    const auto cols = type.features.has_value() ? type.features->cols : 0;
    const auto stored =
        type.features.has_value() ? multiply(cols, size_bytes(type.features->dtype)) : 0;
    cost.nodes.push_back({type.name, most.nodes[t]});
    cost.max_nodes = add(cost.max_nodes, most.nodes[t]);
    cost.feature_bytes =
        add(cost.feature_bytes, multiply(most.nodes[t], multiply(cols, sizeof(float))));
    moved = add(moved, multiply(most.nodes[t], add(8, stored)));
  }
  for (std::size_t e = 0; e < most.edges.size(); ++e) {
    cost.edges.push_back({graph.edge_types[e].name, most.edges[e]});
    cost.max_edges = add(cost.max_edges, most.edges[e]);
  }
  const std::uint64_t per_edge = counts.id_bytes + (job.sample.edge_ids ? 8U : 0U);
  moved = add(moved, multiply(cost.max_edges, per_edge));
  cost.wire_bytes = share(moved, owners - 1, owners);
  return cost;
}

/// Neighbour lists of the whole graph.
std::uint64_t list_bytes(const Job& job, const GraphInfo& graph, const Counts& counts) {
  std::uint64_t bytes = 0;
  for (const EdgeTypeInfo& type : graph.edge_types) {
    const auto end = job.sample.edge_dir == EdgeDir::in ? type.destination : type.source;
    const std::uint64_t rows =
        raw(end) < graph.node_types.size() ? graph.node_types[raw(end)].count : 0;
    bytes = add(bytes, multiply(add(rows, job.partition.parts), 8));
    bytes = add(bytes, multiply(type.count, counts.id_bytes + (type.has_edge_ids ? 8U : 0U)));
  }
  return bytes;
}

/// Arrays of all parts: lists, original ids, features, labels, and the ids of other parts' nodes
/// that the lists name. Halos hold all lists in every part at most.
std::uint64_t store_bytes(const Job& job, const GraphInfo& graph, const Counts& counts) {
  const std::uint64_t parts = job.partition.parts;
  std::uint64_t bytes = list_bytes(job, graph, counts);
  std::uint64_t widest = 0;  // feature row
  if (job.partition.halo.hops > 0) {
    bytes = multiply(bytes, parts);
  }
  for (const NodeTypeInfo& type : graph.node_types) {
    const std::uint64_t row = type.features.has_value()
                                  ? multiply(type.features->cols, size_bytes(type.features->dtype))
                                  : 0;
    widest = std::max(widest, row);
    std::uint64_t labels = 0;
    if (type.labels.has_value()) {
      labels =
          type.labels->kind == LabelInfo::Kind::classes ? 8 : multiply(type.labels->classes, 4);
    }
    bytes = add(bytes, multiply(type.count, add(add(8, labels), row)));
  }
  const std::uint64_t others = counts.nodes - counts.nodes / parts;
  const std::uint64_t halo = parts == 1 ? 0 : std::min(others, counts.edges / parts);
  const auto per_node = add(16, job.partition.halo.features ? widest : 0);
  return add(bytes, multiply(multiply(halo, per_node), parts));
}

/// float32 vectors as long as the parameters that a rank keeps: parameters, gradient, the best
/// epoch's, optimizer state.
std::uint64_t vectors_per_rank(const nn::OptimizerOptions& optimizer) {
  if (optimizer.kind == "sgd") {
    return optimizer.momentum > 0 ? 4 : 3;
  }
  return 5;
}

/// Everything that lies in one process: with `simulate` the whole cluster, else the fullest one.
std::uint64_t process_bytes(const Job& job, const Plan& plan) {
  const bool one_process = job.cluster.launch == "simulate";
  std::uint64_t ranks = one_process ? plan.world : 0;
  std::uint64_t parts = one_process ? job.partition.parts : 0;
  for (const auto& process : plan.layout.processes) {
    ranks = std::max<std::uint64_t>(ranks, process.ranks.size());
    parts = std::max<std::uint64_t>(parts, process.maps.size());
  }
  const std::uint64_t ids =
      add(multiply(plan.batch.max_nodes, 24), multiply(plan.batch.max_edges, 4));
  const std::uint64_t batches =
      multiply(add(plan.batch.feature_bytes, ids), job.cluster.batches_ahead());
  const std::uint64_t learning =
      multiply(multiply(plan.parameters, 4), vectors_per_rank(job.train.optimizer));
  const std::uint64_t copies = !job.partition.replicated_topology ? 0
                               : one_process                      ? plan.layout.processes.size()
                                                                  : 1;
  return add(
      add(share(plan.store_bytes, parts, job.partition.parts), multiply(plan.list_bytes, copies)),
      multiply(ranks, add(batches, learning)));
}

std::uint64_t count_parameters(const Job& job, const GraphInfo& graph) {
  Job fitted = job;
  fit_to_graph(fitted, graph);
  const auto model = nn::make_model(fitted.model);
  return model.ok() ? (*model)->num_parameters() : 0;
}

}  // namespace

Plan make_plan(const Job& job, const GraphInfo& graph) {
  const Counts counts = count(job, graph);
  Plan plan;
  plan.layout = make_layout(job);
  plan.world = job.cluster.world();
  plan.parameters = count_parameters(job, graph);
  plan.batches_per_epoch = divide_up(counts.train.count, job.sample.batch_size);
  plan.steps_per_epoch = divide_up(plan.batches_per_epoch, plan.world);
  plan.batch =
      batch_cost(job, graph, counts, std::max<std::size_t>(1, plan.layout.evaluators().size()));
  plan.store_bytes = store_bytes(job, graph, counts);
  plan.list_bytes = list_bytes(job, graph, counts);
  plan.process_bytes = process_bytes(job, plan);
  return plan;
}

}  // namespace troupe
