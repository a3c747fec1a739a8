#include "runtime/job/plan.hpp"

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
  std::uint64_t train_seeds = 0;
  std::uint64_t cols = 0;       ///< widest features
  std::uint64_t row_bytes = 0;  ///< widest row as stored
  std::uint64_t id_bytes = 4;   ///< of a neighbour in lists
};

Counts count(const Job& job, const GraphInfo& graph) {
  Counts counts;
  for (const NodeTypeInfo& type : graph.node_types) {
    counts.nodes = add(counts.nodes, type.count);
    if (type.features.has_value()) {
      counts.cols = std::max(counts.cols, type.features->cols);
      counts.row_bytes = std::max(counts.row_bytes,
                                  multiply(type.features->cols, size_bytes(type.features->dtype)));
    }
  }
  for (const EdgeTypeInfo& type : graph.edge_types) {
    counts.edges = add(counts.edges, type.count);
  }
  counts.id_bytes = counts.nodes <= (std::uint64_t{1} << 32) ? 4 : 8;
  const SplitInfo* split = graph.find_split(job.dataset.split);
  const auto train =
      split == nullptr ? decltype(split->roles.find("train")){} : split->roles.find("train");
  if (split == nullptr || train == split->roles.end() ||
      raw(train->second.node_type) >= graph.node_types.size()) {
    return counts;
  }
  counts.train_seeds = train->second.count;
  return counts;
}

struct Reach {
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint64_t asked = 0;  ///< nodes whose neighbours are drawn, over all hops
};

/// The most that one batch can touch: each hop draws at most its fanout per frontier node, and
/// never more edges or nodes than there are.
Reach reach(const SampleJob& sample, const Counts& counts) {
  const bool fresh = sample.frontier == Frontier::fresh;
  Reach total;
  total.nodes = std::min(sample.batch_size, counts.train_seeds);
  std::uint64_t frontier = total.nodes;
  for (const std::int32_t fanout : sample.fanout) {
    const bool repeats = sample.replace && fanout >= 0;
    const std::uint64_t drawn =
        fanout < 0 ? counts.edges : multiply(frontier, static_cast<std::uint64_t>(fanout));
    const std::uint64_t there =
        fresh ? counts.edges - std::min(counts.edges, total.edges) : counts.edges;
    const std::uint64_t edges = frontier == 0 || counts.edges == 0 ? 0
                                : repeats                          ? drawn
                                                                   : std::min(drawn, there);
    const std::uint64_t new_nodes =
        std::min(edges, counts.nodes - std::min(counts.nodes, total.nodes));
    total.edges = add(total.edges, edges);
    total.asked = add(total.asked, frontier);
    total.nodes = add(total.nodes, new_nodes);
    frontier = fresh ? new_nodes : total.nodes;
  }
  return total;
}

/// \param owners  processes that hold parts
BatchCost batch_cost(const Job& job, const Counts& counts, const Reach& most, std::size_t owners) {
  BatchCost cost;
  cost.max_nodes = most.nodes;
  cost.max_edges = most.edges;
  cost.feature_bytes = multiply(most.nodes, multiply(counts.cols, sizeof(float)));
  const std::uint64_t per_edge = counts.id_bytes + (job.sample.edge_ids ? 8U : 0U);
  const std::uint64_t moved = add(add(multiply(most.asked, 8), multiply(most.edges, per_edge)),
                                  multiply(most.nodes, add(8, counts.row_bytes)));
  cost.wire_bytes = share(moved, owners - 1, owners);
  return cost;
}

/// Arrays of all parts: lists, original ids, features, labels, and the ids of other parts' nodes
/// that the lists name.
std::uint64_t store_bytes(const Job& job, const GraphInfo& graph, const Counts& counts) {
  const std::uint64_t parts = job.partition.parts;
  std::uint64_t bytes = 0;
  for (const EdgeTypeInfo& type : graph.edge_types) {
    const auto end = job.sample.edge_dir == EdgeDir::in ? type.destination : type.source;
    const std::uint64_t rows =
        raw(end) < graph.node_types.size() ? graph.node_types[raw(end)].count : 0;
    bytes = add(bytes, multiply(add(rows, parts), 8));
    bytes = add(bytes, multiply(type.count, counts.id_bytes + (type.has_edge_ids ? 8U : 0U)));
  }
  for (const NodeTypeInfo& type : graph.node_types) {
    const std::uint64_t row = type.features.has_value()
                                  ? multiply(type.features->cols, size_bytes(type.features->dtype))
                                  : 0;
    std::uint64_t labels = 0;
    if (type.labels.has_value()) {
      labels =
          type.labels->kind == LabelInfo::Kind::classes ? 8 : multiply(type.labels->classes, 4);
    }
    bytes = add(bytes, multiply(type.count, add(add(8, labels), row)));
  }
  const std::uint64_t others = counts.nodes - counts.nodes / parts;
  const std::uint64_t halo = parts == 1 ? 0 : std::min(others, counts.edges / parts);
  return add(bytes, multiply(multiply(halo, 16), parts));
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
  return add(share(plan.store_bytes, parts, job.partition.parts),
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
  plan.batches_per_epoch = divide_up(counts.train_seeds, job.sample.batch_size);
  plan.steps_per_epoch = divide_up(plan.batches_per_epoch, plan.world);
  plan.batch = batch_cost(job, counts, reach(job.sample, counts),
                          std::max<std::size_t>(1, plan.layout.evaluators().size()));
  plan.store_bytes = store_bytes(job, graph, counts);
  plan.process_bytes = process_bytes(job, plan);
  return plan;
}

}  // namespace troupe
