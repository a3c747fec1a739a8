#include "runtime/job/reach.hpp"

#include "runtime/base/saturating.hpp"
#include "runtime/job/fanout.hpp"
#include "runtime/job/knowledge_rules.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/subgraph_rules.hpp"
#include "runtime/job/walk_positives.hpp"
#include "runtime/job/walk_rules.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/choice/choices.hpp"

#include <algorithm>
#include <numeric>

namespace troupe {
namespace {

/// The most edges that one hop draws along a type: its fanout per frontier node, and never more
/// than there are.
std::uint64_t most_drawn(const SampleJob& sample, std::int32_t fanout, std::uint64_t frontier,
                         std::uint64_t all, std::uint64_t before) {
  if (frontier == 0 || all == 0) {
    return 0;
  }
  const auto* kind = find_kind(choice_kinds(), sample.choice);
  const auto of_list = kind == nullptr || fanout <= 0
                           ? static_cast<std::uint64_t>(std::max(fanout, 0))
                           : most_taken(*kind, static_cast<std::uint32_t>(fanout));
  const std::uint64_t drawn = fanout < 0 ? all : times(frontier, of_list);
  if (sample.replace && fanout >= 0) {
    return drawn;  // with repeats
  }
  const bool fresh = sample.frontier == Frontier::fresh;
  return std::min(drawn, fresh ? all - std::min(all, before) : all);
}

/// Adds the edges that a batch has beside those that were drawn.
/// \param trees  in which an edge can be
void close(const SampleJob& sample, const GraphInfo& graph, std::uint64_t trees, Reach& total) {
  const auto fanout = fanout_by_hop(sample, graph);
  const auto reverses = reverses_of_sampled(fanout, graph);
  const auto drawn = total.edges;
  for (std::size_t e = 0; e < graph.edge_types.size(); ++e) {
    const auto& type = graph.edge_types[e];
    if (sample.subgraph == Subgraph::bidirectional && reverses[e]) {
      auto& edges = total.edges[raw(*reverses[e])];
      edges = plus(edges, drawn[e]);
    }
    if (sample.subgraph == Subgraph::induced && is_sampled(fanout, e)) {
      total.edges[e] = times(trees, type.count);
      total.asked = plus(total.asked, total.nodes[raw(type.list_type(sample.edge_dir))]);
    }
  }
  if (sample.subgraph != Subgraph::directional) {  // every layer works on all of it
    total.after = {{total.nodes, total.edges}, {total.nodes, total.edges}};
  }
}

}  // namespace

std::vector<std::uint64_t> seeds_of_batch(const Job& job, const GraphInfo& graph,
                                          const SplitInfo::Role& list) {
  std::vector<std::uint64_t> seeds(graph.node_types.size());
  if (raw(list.node_type) < seeds.size()) {
    seeds[raw(list.node_type)] = std::min(job.sample.batch_size, list.count);
  }
  return seeds;
}

namespace {

/// The most links of a batch, from a list of so many.
std::uint64_t positives_of(const Job& job, std::uint64_t count) {
  const auto positives = std::min(job.sample.batch_size, count);
  const auto& walk = job.task.walk;
  return job.task.from_walks ? times(positives, times(walk.per_seed, most_pairs_of_walk(walk)))
                             : positives;
}

/// Negatives of links in batches to evaluate, if these have neighborhoods too.
NegativeOptions scored_negatives(const Job& job) {
  return job.scores_batches() ? job.eval.negatives : NegativeOptions{};
}

std::vector<std::uint64_t> seeds_of_links(const Job& job, const GraphInfo& graph,
                                          const EndTypes& type, std::uint64_t count) {
  std::vector<std::uint64_t> seeds(graph.node_types.size());
  const auto positives = positives_of(job, count);
  const auto& trained = job.task.negatives;
  const auto scored = scored_negatives(job);
  const auto drawn = times(positives, std::max(trained.drawn(), scored.drawn()));
  const bool binary = trained.kind == Negatives::binary || scored.kind == Negatives::binary;
  seeds[raw(type.source)] = plus(positives, binary ? drawn : 0);
  if (job.task.knowledge()) {
    const auto chunks = shared_candidates(job).chunks;
    seeds[raw(type.source)] = plus(positives, times(chunks.chunks_of(positives), chunks.negatives));
  }
  seeds[raw(type.destination)] = plus(seeds[raw(type.destination)], plus(positives, drawn));
  for (std::size_t t = 0; t < seeds.size() && !job.sample.in_trees(); ++t) {
    seeds[t] = std::min(seeds[t], graph.node_types[t].count);
  }
  return seeds;
}

}  // namespace

std::vector<std::uint64_t> seeds_of_batch(const Job& job, const GraphInfo& graph,
                                          const SplitInfo::LinkRole& list) {
  auto turns = list.pairs_of ? types_of_pairs(job, graph)
                             : std::vector<EndTypes>();  // a batch is of one of them
  if (turns.empty()) {
    for (const EdgeTypeId type : edge_types_of(list)) {
      SplitInfo::LinkRole of_type{.edge_type = type};
      of_type.pairs_of = list.pairs_of;
      turns.push_back(end_types_of(graph, of_type));
    }
  }
  std::vector<std::uint64_t> most(graph.node_types.size());
  for (const auto& ends : turns) {
    const auto seeds = seeds_of_links(job, graph, ends, list.count);
    std::ranges::transform(most, seeds, most.begin(),
                           [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  }
  return most;
}

std::uint64_t pairs_of_batch(const Job& job, std::uint64_t links) {
  const auto drawn = std::max(job.task.negatives.drawn(), scored_negatives(job).drawn());
  return times(positives_of(job, links), plus(1, drawn));
}

Reach reach(const SampleJob& sample, const GraphInfo& graph,
            const std::vector<std::uint64_t>& seeds) {
  const bool fresh = sample.frontier == Frontier::fresh;
  const bool in = sample.edge_dir == EdgeDir::in;
  const auto node_types = graph.node_types.size();
  Reach total{.nodes = std::vector<std::uint64_t>(node_types),
              .edges = std::vector<std::uint64_t>(graph.edge_types.size()),
              .asked = 0,
              .after = {}};
  if (node_types == 0) {
    return total;
  }
  total.nodes = seeds;
  auto frontier = total.nodes;
  total.after.push_back({total.nodes, total.edges});
  // In a disjoint batch a node or an edge occurs in each tree at most.
  const std::uint64_t trees =
      sample.in_trees() ? std::accumulate(seeds.begin(), seeds.end(), std::uint64_t{0}, plus) : 1;
  for (const auto& fanout : fanout_by_hop(sample, graph)) {
    std::vector<std::uint64_t> found(node_types);
    for (std::size_t e = 0; e < graph.edge_types.size(); ++e) {
      const EdgeTypeInfo& type = graph.edge_types[e];
      const auto from = raw(in ? type.destination : type.source);
      const auto to = raw(in ? type.source : type.destination);
      const auto edges =
          most_drawn(sample, fanout[e], frontier[from], times(trees, type.count), total.edges[e]);
      total.edges[e] = plus(total.edges[e], edges);
      total.asked = plus(total.asked, fanout[e] == 0 ? 0 : frontier[from]);
      found[to] = plus(found[to], edges);
    }
    for (std::size_t t = 0; t < node_types; ++t) {
      const auto all = times(trees, graph.node_types[t].count);
      const auto fresh_nodes = std::min(found[t], all - std::min(all, total.nodes[t]));
      total.nodes[t] = plus(total.nodes[t], fresh_nodes);
      frontier[t] = fresh ? fresh_nodes : total.nodes[t];
    }
    total.after.push_back({total.nodes, total.edges});
  }
  close(sample, graph, trees, total);
  return total;
}

}  // namespace troupe
