#include "runtime/job/memory_plan.hpp"

#include "runtime/base/buffer.hpp"
#include "runtime/base/saturating.hpp"
#include "runtime/graph/alias_tables.hpp"
#include "runtime/graph/list_tables.hpp"
#include "runtime/job/columns.hpp"
#include "runtime/job/embedding_rules.hpp"
#include "runtime/job/fanout.hpp"
#include "runtime/job/in_place_memory.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/reach.hpp"
#include "runtime/job/task_rules.hpp"
#include "runtime/job/walk_positives.hpp"
#include "runtime/job/walk_rules.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/sample/choice/choices.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <thread>

namespace troupe {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
/// The program with its libraries and the buffers of its links.
constexpr std::uint64_t base_bytes = 48 * mib;
/// Stack, arena and scratch memory of a compute thread, for the matrix library too.
constexpr std::uint64_t thread_bytes = 4 * mib;
/// What `GrowBuffer` takes more than was asked for, as a divisor.
constexpr std::uint64_t growth = 4;
/// Parameters, gradient, its clipped copy, optimizer state, best epoch, snapshot, and the exchange:
/// shares of two steps, their sum, the mean.
constexpr std::uint64_t vectors_per_rank = 12;
/// Of the director: the state to go back to, the one under way and the one being written, with optimizer
/// state and best parameters each.
constexpr std::uint64_t vectors_of_director = 12;
constexpr std::uint64_t float_bytes = sizeof(float);
constexpr std::uint64_t blocks_in_flight = 2;
/// Of rows and state: two that holders keep for roll-backs while a third one is made.
constexpr std::uint64_t learned_copies = 3;
constexpr const char* learned_name = "learned rows";
constexpr const char* batches_name = "batches in flight";
constexpr const char* outputs_name = "outputs of exact inference";
constexpr const char* blocks_name = "blocks of exact inference";

/// What lies in one process; with `simulate` in all of them together.
struct Load {
  std::uint64_t ranks = 0;
  std::uint64_t paths = 0;  ///< ranks whose batches are sampled and collected here
  std::uint64_t evaluators = 0;
  std::uint64_t served = 0;  ///< parts with a holder here
  std::uint64_t mapped = 0;  ///< parts that are read in place
  std::uint64_t topologies = 0;
  bool directs = false;

  void add(const ProcessPlan& process) {
    ranks += process.ranks.size();
    paths += std::max(process.ranks.size(), process.samples_for.size());
    evaluators += process.serves.empty() ? 0U : 1U;
    served += process.serves.size();
    mapped += process.maps.size();
    topologies += 1;
    directs = directs || process.directs;
  }
};

std::uint64_t product(std::uint64_t rows, std::uint64_t cols) {
  return times(times(rows, cols), float_bytes);
}

/// Pairs of the files of evaluation, while they are found in the parts and after that: four ids each
/// beside those of the file, whose ids take two bytes at least.
std::uint64_t bytes_of_pairs(const EvalJob& eval) {
  std::uint64_t bytes = 0;
  for (const auto* files : {&eval.negative_files, &eval.candidate_files}) {
    for (const auto& [role, file] : *files) {
      std::error_code error;
      const auto size = std::filesystem::file_size(file, error);
      bytes = plus(bytes, error ? 0 : times(size, 32));
    }
  }
  return bytes;
}

class MemoryEstimate {
 public:
  MemoryEstimate(const Job& job, const GraphInfo& graph, const GraphFacts& facts, const Plan& plan)
      : job_(job), graph_(graph), facts_(facts), plan_(plan) {
    fit_to_graph(job_, graph_);
    if (auto model = nn::make_network(job_.model); model) {
      model_ = *std::move(model);
    }
    for (const auto& type : graph_.node_types) {
      nodes_ = plus(nodes_, type.count);
    }
    for (const auto& type : graph_.edge_types) {
      edges_ = plus(edges_, type.count);
    }
    if (const auto* links = training_links(job_, graph_); links != nullptr) {
      largest_ = links->count;  // the list itself stays in its file
      batch_seeds_ = seeds_of_batch(job_, graph_, *links);
      for (const auto& [role, list] : graph_.find_split(job_.dataset.split)->links) {
        scored_ = plus(scored_, role == "train" ? 0 : list.count);
      }
      // All edges of a type are links of every process, those of a split stay in their file.
      pair_bytes_ =
          plus(bytes_of_pairs(job_.eval), job_.task.embeds() ? times(links->count, 80) : 0);
      if (!links->edge_types.empty() && !job_.task.knowledge()) {  // put type by type in memory
        pair_bytes_ = plus(pair_bytes_, times(plus(links->count, scored_), 40));
      }
      seeds_ = job_.task.embeds() ? nodes_ : 0;
    } else if (const auto* split = graph_.find_split(job_.dataset.split); split != nullptr) {
      for (const auto& [role, list] : split->roles) {
        seeds_ = plus(seeds_, list.count);
        scored_ = plus(scored_, role == "train" ? 0 : list.count);
        // Sampled evaluation has batches of its own.
        const bool has_batches = role == "train" || job_.eval.mode == "sampled";
        if (has_batches && list.count > largest_) {
          largest_ = list.count;
          batch_seeds_ = seeds_of_batch(job_, graph_, list);
        }
      }
    }
    batch_seeds_.resize(graph_.node_types.size());
    reach_ = reach_of_batch(job_, graph_, batch_seeds_);
  }

  MemoryPlan of(const Load& load) const {
    MemoryPlan plan;
    plan.items = {{"program and threads", program()},
                  {"store", store(load)},
                  {"tables of lists", list_tables(load)},
                  {"seeds and their scores", seeds(load)},
                  {batches_name, times(load.paths + extra_trainers(load), batches())},
                  {"activations and their gradients", times(load.ranks, activations())},
                  {"parameters and optimizer", parameters(load)},
                  {learned_name, learned_rows(load)},
                  {outputs_name, outputs(load)},
                  {blocks_name, times(load.evaluators, blocks(load))},
                  {"caches", caches(load)}};
    std::erase_if(plan.items, [this](const MemoryPlan::Item& item) {
      return item.name == learned_name && job_.embedding.empty();
    });
    plan.items.push_back({"freed memory that is kept", kept(plan.items)});
    return plan;
  }

 private:
  /// Rows with state, copies for roll-backs and of the best epoch, and a rank's rows and gradients of a
  /// batch with the shares of two steps, which every holder gets from every rank.
  std::uint64_t learned_rows(const Load& load) const {
    std::uint64_t tables = 0;
    std::uint64_t of_batch = 0;
    const auto plan = embedding_plan(job_, graph_);
    for (const auto& table : plan ? plan->tables : std::vector<EmbeddingOptions>()) {
      const auto nodes = graph_.node_types[raw(table.node_type)].count;
      const auto per_row =
          plus(times(1 + learned_copies, plus(table.dim, sparse_state_cols(table))), table.dim);
      tables = plus(tables, product(plus(nodes / parts(), 1), per_row));
      const auto rows = reach_.nodes[raw(table.node_type)];
      of_batch = plus(of_batch, times(rows, plus(sizeof(NodeId), table.dim * float_bytes)));
    }
    const auto shares = times(times(of_batch, job_.cluster.world()), 2);
    return plus(plus(times(tables, load.served), times(times(of_batch, 4), load.ranks)),
                load.served > 0 ? shares : 0);
  }

  std::uint64_t program() const {
    std::uint64_t threads = job_.cluster.threads;
    for (std::uint32_t host = 0; host < job_.cluster.named.size(); ++host) {
      threads = std::max<std::uint64_t>(threads, job_.cluster.threads_on(host));
    }
    threads = threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
    return base_bytes + times(threads, thread_bytes);
  }
  std::uint64_t parts() const { return std::max<std::uint64_t>(job_.partition.parts, 1); }

  /// Freed blocks lie in the pool of buffers, up to its limit, and in the allocator's arenas, which
  /// kept up to half of what blocks and outputs of inference had taken. Batches reach their bounds
  /// seldom.
  static std::uint64_t kept(const std::vector<MemoryPlan::Item>& items) {
    const auto bytes_of = [&](std::string_view name) {
      return std::ranges::find(items, name, &MemoryPlan::Item::name)->bytes;
    };
    const auto inference = plus(bytes_of(outputs_name), bytes_of(blocks_name));
    return plus(
        std::min<std::uint64_t>(buffer_pool_stats().limit_bytes, bytes_of(batches_name) / 4),
        inference / 2);
  }

  std::uint64_t store(const Load& load) const {
    const bool copied = job_.dataset.memory != StoreMemory::mapped;  // auto may copy
    const auto mapped = copied ? load.mapped : std::min(load.mapped, parts());
    std::uint64_t bytes = times(plan_.part_bytes, mapped);
    if (job_.partition.replicated_topology) {
      bytes = plus(bytes, times(plan_.list_bytes, load.topologies));
    }
    return bytes;
  }

  /// Halos hold all lists in every part at most.
  std::uint64_t list_tables(const Load& load) const {
    return plus(tables_of_choice(load), edge_ends(load));
  }

  /// Of negatives by degree: each node of a slice, at both ends.
  std::uint64_t edge_ends(const Load& load) const {
    const auto* links = links_by_degree(job_, graph_);
    if (links == nullptr) {
      return 0;
    }
    const auto& type = graph_.edge_types[raw(links->edge_type)];
    const auto nodes = plus(graph_.node_types[raw(type.source)].count,
                            graph_.node_types[raw(type.destination)].count);
    const auto loaded =
        plus(load.mapped, job_.partition.replicated_topology ? times(parts(), load.topologies) : 0);
    return times(times(plus(nodes / parts(), 2), sizeof(EdgeEnd)), loaded);
  }

  std::uint64_t tables_of_choice(const Load& load) const {
    const auto* choice = find_kind(choice_kinds(), job_.sample.choice);
    if (choice == nullptr || !reads_entries(*choice)) {
      return 0;
    }
    std::uint64_t edges = 0;
    bool times_too = false;
    std::uint64_t id_bytes = 4;
    for (const auto type : drawn_edge_types(job_.sample, graph_)) {
      const auto& info = graph_.edge_types[raw(type)];
      edges = plus(edges, info.count);
      times_too = times_too || info.has_times;
      const auto end = info.neighbour_type(job_.sample.edge_dir);
      id_bytes = std::max(id_bytes, neighbour_original_bytes(graph_.node_types[raw(end)].count));
    }
    auto of_part = job_.partition.halo.hops > 0 ? edges : plus(edges / parts(), 1);
    if (choice->needs_weights && !facts_.weight_bytes.empty()) {
      of_part = std::ranges::max(facts_.weight_bytes) / sizeof(float);
    }
    const auto tables =
        plus(times(of_part, load.mapped),
             job_.partition.replicated_topology ? times(edges, load.topologies) : 0);
    const auto by_weight = alias_bytes + (times_too ? weight_sum_bytes : 0);
    return times(tables, choice->needs_weights ? by_weight : id_bytes);
  }

  /// Ids, orders and owners of all processes' lists; positions, labels and outputs of the scored ones.
  std::uint64_t seeds(const Load& load) const {
    const auto outputs = times(scored_, score_cols(job_) * float_bytes + 24);
    const auto all =
        plus(times(seeds_, 48), times(outputs, 2 + (load.directs ? std::uint64_t{2} : 0)));
    const bool ranks = job_.task.predicts_links() && load.directs;
    return plus(plus(all, pair_bytes_), ranks ? times(times(scored_, score_cols(job_)), 64) : 0);
  }

  /// Ranks whose batches come from other processes hold them too.
  static std::uint64_t extra_trainers(const Load& load) {
    return load.ranks > load.paths ? load.ranks - load.paths : 0;
  }

  std::uint64_t batches() const {
    const auto all = divide_up(std::max(largest_, std::uint64_t{1}), job_.sample.batch_size);
    const auto per_rank = divide_up(all, std::max(plan_.world, 1U));
    std::uint64_t rows = 0;
    std::uint64_t stored = 0;
    for (std::size_t t = 0; t < reach_.nodes.size(); ++t) {
      const auto& features = graph_.node_types[t].features;
      if (features && job_.features.collect) {
        rows = plus(rows, product(reach_.nodes[t], features->cols));
        stored = plus(stored, times(reach_.nodes[t], features->row_bytes()));
      }
    }
    for (std::size_t e = 0; e < reach_.edges.size() && job_.sample.edge_data.entries; ++e) {
      if (const auto& features = graph_.edge_types[e].features) {
        rows = plus(rows, product(reach_.edges[e], features->cols));
        stored = plus(stored, times(reach_.edges[e], features->row_bytes()));
      }
    }
    const auto columns = wanted_columns(job_, graph_);
    const auto add_columns = [&](TableName::Kind kind, const std::vector<std::uint64_t>& reached) {
      for (std::size_t t = 0; t < reached.size(); ++t) {
        const auto bytes = times(reached[t], column_bytes(columns, kind, t));
        rows = plus(rows, bytes);
        stored = plus(stored, bytes);
      }
    };
    add_columns(TableName::Kind::node_column, reach_.nodes);
    add_columns(TableName::Kind::edge_column, reach_.edges);
    const auto nodes =
        std::accumulate(reach_.nodes.begin(), reach_.nodes.end(), std::uint64_t{0}, plus);
    const auto edges =
        std::accumulate(reach_.edges.begin(), reach_.edges.end(), std::uint64_t{0}, plus);
    // Rows as they come and as they are used; ids, numbers and the index; lists as they come, in place.
    const std::uint64_t per_node = job_.sample.in_trees() ? 104 : 80;
    const auto ids =
        plus(times(nodes, per_node), times(edges, 24 + 2 * job_.sample.edge_data.bytes()));
    // The walks themselves, with the walkers and their candidates.
    const auto walks = job_.task.walks() ? times(reach_.asked, 64) : pairs_of_walks();
    const auto one = plus(plus(rows, remote(stored)), plus(ids, walks));
    const auto fixed = job_.cluster.batches_ahead();
    const auto ahead = (fixed > 0 ? fixed : AutoBatches::first) + std::uint64_t{1};
    const auto sure = times(one, std::min(ahead, per_rank));
    if (fixed > 0) {
      return sure;
    }
    // What a finished batch counts as, against its bytes here.
    const auto counted = std::max<std::uint64_t>(
        1, plus(rows, plus(times(nodes, sizeof(NodeId)), times(edges, sizeof(std::uint32_t)))));
    const auto extra = std::min<std::uint64_t>(AutoBatches::most - AutoBatches::first,
                                               per_rank - std::min(ahead, per_rank));
    return plus(sure,
                std::min(times(one, extra), proportion(AutoBatches::extra_bytes, one, counted)));
  }

  /// Ends of the pairs and of drawn ones: as global ids, as candidates and as places in the batch.
  std::uint64_t pairs_of_walks() const {
    if (!job_.task.from_walks) {
      return 0;
    }
    const auto& walk = job_.task.walk;
    const auto walks = times(job_.sample.batch_size, walk.per_seed);
    return times(times(walks, most_pairs_of_walk(walk)), 64 + 64 * job_.task.negatives.drawn());
  }

  std::uint64_t remote(std::uint64_t bytes) const {
    const auto owners = std::max<std::size_t>(1, plan_.layout.evaluators().size());
    return proportion(bytes, owners - 1, owners);
  }

  std::uint64_t cols_of(std::size_t layer, std::size_t type) const {
    if (layer > 0 || job_.model.linear_input) {
      return job_.model.hidden;
    }
    const auto cols = type < job_.model.types.nodes.size() ? job_.model.types.nodes[type].cols : 0;
    return cols > 0 ? cols : job_.model.hidden;
  }

  /// Of one rank: what forward keeps, what backward needs, partial gradients of the widest matrix.
  std::uint64_t activations() const {
    if (model_ == nullptr || reach_.after.empty()) {
      return 0;
    }
    const auto layers = job_.model.layers;
    std::uint64_t sum = 0;
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      const auto hops = reach_.after.size() - 1;
      const auto from = hops - std::min<std::size_t>(layer, hops);
      const auto& sources = reach_.after[from];
      const auto& targets = reach_.after[from > 0 ? from - 1 : 0];
      const auto out = layer + 1 == layers ? job_.model.out_dim : job_.model.hidden;
      for (std::size_t e = 0; e < graph_.edge_types.size(); ++e) {
        sum = plus(sum, of_edges(layer, e, sources, targets));
      }
      for (std::size_t t = 0; t < graph_.node_types.size(); ++t) {
        // The convolution's rows and the layer's, their gradient, lengths and statistics.
        sum = plus(sum, product(targets.nodes[t], times(out + 2, job_.model.batch_norm ? 5 : 3)));
        const bool dropped = layer == 0 && job_.model.input_dropout > 0;
        const bool learned = embedding_cols(job_, graph_.node_types[t]) > 0;
        const bool input_gradient = layer > 0 || job_.model.linear_input || learned;
        if (layer == 0 && job_.model.linear_input) {
          sum = plus(sum, product(sources.nodes[t], job_.model.hidden));
        }
        sum = plus(sum, product(sources.nodes[t],
                                times(cols_of(layer, t),
                                      (dropped ? 1U : 0U) + (input_gradient ? 1U : 0U))));
      }
    }
    sum = plus(sum, partials());
    return plus(sum, sum / growth);
  }

  /// What the convolution keeps, and edges by source.
  std::uint64_t of_edges(std::uint32_t layer, std::size_t e, const Reach::Hop& sources,
                         const Reach::Hop& targets) const {
    const auto& type = graph_.edge_types[e];
    const bool in = job_.sample.edge_dir == EdgeDir::in;
    const nn::BlockCounts counts{
        .sources = sources.nodes[raw(in ? type.source : type.destination)],
        .destinations = targets.nodes[raw(in ? type.destination : type.source)],
        .edges = sources.edges[e]};
    const auto numbers = model_->pass_numbers(layer, static_cast<EdgeTypeId>(e), counts);
    return plus(times(numbers, float_bytes), times(counts.edges, 16));
  }

  std::uint64_t partials() const {
    std::uint64_t widest = 0;
    for (const auto& slice : model_->layout()) {
      widest = std::max<std::uint64_t>(widest, slice.size());
    }
    const auto rows =
        std::accumulate(reach_.nodes.begin(), reach_.nodes.end(), std::uint64_t{0}, plus);
    return product(widest,
                   std::min<std::uint64_t>(nn::most_partials, divide_up(rows, nn::chunk_rows)));
  }

  std::uint64_t parameters(const Load& load) const {
    const auto vectors = times(load.ranks, vectors_per_rank) + load.evaluators +
                         (load.directs ? vectors_of_director : 0);
    return product(plan_.parameters, vectors);
  }

  bool infers() const {
    return model_ != nullptr && scored_ > 0 && job_.infers_exactly() && !job_.task.knowledge();
  }

  /// What the first layer reads of the nodes here, where some of it is learned.
  std::uint64_t joined_inputs() const {
    std::uint64_t all = 0;
    const auto& first = model_->infer_stages().front();
    for (std::size_t t = 0; !job_.embedding.empty() && t < first.in_cols.size(); ++t) {
      all = plus(all, product(plus(graph_.node_types[t].count / parts(), 1), first.in_cols[t]));
    }
    return all;
  }

  /// Of all layers of the nodes here, and of one again while the next inference computes it.
  std::uint64_t outputs(const Load& load) const {
    if (!infers()) {
      return 0;
    }
    std::uint64_t all = joined_inputs();
    std::uint64_t largest = all;
    for (const auto& stage : model_->infer_stages()) {
      std::uint64_t of_stage = 0;
      for (const auto& output : stage.outputs) {
        const auto nodes = graph_.node_types[raw(output.type)].count;
        of_stage = plus(of_stage, product(plus(nodes / parts(), 1), output.cols));
      }
      all = plus(all, of_stage);
      largest = std::max(largest, of_stage);
    }
    return times(plus(all, largest), load.served);
  }

  /// Of one evaluator: the costliest stage.
  std::uint64_t blocks(const Load& load) const {
    if (!infers()) {
      return 0;
    }
    const auto per_evaluator = divide_up(load.served, std::max<std::uint64_t>(load.evaluators, 1));
    if (per_evaluator >= parts()) {
      if (const auto in_place = in_place_bytes(*model_, graph_, job_.features.normalize, parts())) {
        return *in_place;
      }
    }
    std::uint64_t most = 0;
    for (const auto& stage : model_->infer_stages()) {
      for (const auto& output : stage.outputs) {
        most = std::max(most, block(stage, output, per_evaluator));
      }
    }
    return most;
  }

  /// Rows of all types are taken as wide as the widest that the stage reads.
  std::uint64_t block(const nn::InferStage& stage, const nn::InferStage::Output& output,
                      std::uint64_t own_parts) const {
    const auto in_cols = *std::ranges::max_element(stage.in_cols);
    const auto own_nodes =
        times(plus(graph_.node_types[raw(output.type)].count / parts(), 1), own_parts);
    const auto fitting =
        nn::infer_block_bytes / std::max<std::uint64_t>(times(in_cols, float_bytes), 1);
    const auto longest = facts_.longest_list.value_or(edges_);
    const bool whole = nodes_ <= fitting;  // a block for each part
    const auto rows = whole ? nodes_ : std::min(nodes_, std::max(fitting, plus(longest, 1)));
    const auto part_edges = times(plus(edges_ / parts(), longest), own_parts);
    const auto edges = std::min(edges_, whole ? part_edges : std::max(fitting, longest));
    const auto targets = std::min(rows, own_nodes);
    const auto input = stage.neighbor_rows ? rows : targets;
    // Rows as they are used, and those of other processes as they come.
    auto bytes = plus(product(input, in_cols), remote(product(input, in_cols)));
    bytes = plus(bytes, plus(times(rows, 80), times(edges, 24)));
    // Aggregated or transformed rows, the convolution's and the layer's. Computed one after the other
    // at best: both blocks may be under way.
    const bool first = output.cols < in_cols;
    const auto middle = first ? product(input, output.cols) : product(targets, in_cols);
    bytes = plus(bytes, plus(times(middle, std::max<std::size_t>(output.edges.size(), 1)),
                             product(targets, times(output.cols, 2))));
    const auto count = whole && own_parts == 1 ? 1 : blocks_in_flight;
    return times(bytes, count);
  }

  /// Each data path has one: those of ranks and of evaluators; lists are of a rank's samplers together.
  std::uint64_t caches(const Load& load) const {
    if (parts() == 1) {
      return 0;
    }
    std::uint64_t all_rows = 0;
    for (const auto& type : graph_.node_types) {
      if (type.features) {
        all_rows = plus(all_rows, times(type.count, type.features->row_bytes() + 40));
      }
    }
    std::uint64_t rows = 0;
    if (job_.features.cache_policy != "none") {
      rows = job_.features.cache_ratio > 0
                 ? static_cast<std::uint64_t>(job_.features.cache_ratio *
                                              static_cast<double>(all_rows))
                 : job_.features.cache_bytes;
    }
    const auto lists = std::min(job_.sample.cache_bytes, times(plan_.list_bytes, 2));
    return times(load.paths + load.evaluators, plus(std::min(rows, all_rows), lists));
  }

  Job job_;
  const GraphInfo& graph_;
  const GraphFacts& facts_;
  const Plan& plan_;
  std::unique_ptr<const nn::Network> model_;
  std::uint64_t nodes_ = 0;
  std::uint64_t edges_ = 0;
  std::uint64_t seeds_ = 0;
  std::uint64_t scored_ = 0;
  std::uint64_t pair_bytes_ = 0;            ///< of pairs that files give to score
  std::uint64_t largest_ = 0;               ///< seeds of the longest list that batches come from
  std::vector<std::uint64_t> batch_seeds_;  ///< of its batches, by node type
  Reach reach_;
};

}  // namespace

std::uint64_t MemoryPlan::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& item : items) {
    sum = plus(sum, item.bytes);
  }
  return sum;
}

MemoryPlan memory_plan(const Job& job, const GraphInfo& graph, const GraphFacts& facts,
                       const Plan& plan) {
  const MemoryEstimate estimate(job, graph, facts, plan);
  if (job.cluster.launch == "simulate") {
    Load all;
    for (const auto& process : plan.layout.processes) {
      all.add(process);
    }
    return estimate.of(all);
  }
  MemoryPlan largest;
  for (const auto& process : plan.layout.processes) {
    Load load;
    load.add(process);
    if (auto of_process = estimate.of(load); of_process.bytes() > largest.bytes()) {
      largest = std::move(of_process);
    }
  }
  return largest;
}

}  // namespace troupe
