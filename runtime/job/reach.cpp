#include "runtime/job/reach.hpp"

#include "runtime/base/saturating.hpp"
#include "runtime/job/fanout.hpp"

#include <algorithm>

namespace troupe {
namespace {

/// The most edges that one hop draws along a type: its fanout per frontier node, and never more
/// than there are.
std::uint64_t most_drawn(const SampleJob& sample, std::int32_t fanout, std::uint64_t frontier,
                         std::uint64_t all, std::uint64_t before) {
  if (frontier == 0 || all == 0) {
    return 0;
  }
  const std::uint64_t drawn =
      fanout < 0 ? all : times(frontier, static_cast<std::uint64_t>(fanout));
  if (sample.replace && fanout >= 0) {
    return drawn;  // with repeats
  }
  const bool fresh = sample.frontier == Frontier::fresh;
  return std::min(drawn, fresh ? all - std::min(all, before) : all);
}

}  // namespace

Reach reach(const SampleJob& sample, const GraphInfo& graph, const SplitInfo::Role& train) {
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
  total.nodes[raw(train.node_type)] = std::min(sample.batch_size, train.count);
  auto frontier = total.nodes;
  total.after.push_back({total.nodes, total.edges});
  // In a disjoint batch a node or an edge occurs in each tree at most.
  const std::uint64_t trees = sample.in_trees() ? total.nodes[raw(train.node_type)] : 1;
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
  return total;
}

}  // namespace troupe
