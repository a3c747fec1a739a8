#include "runtime/run/edges_as_links.hpp"

#include "runtime/job/walk_positives.hpp"
#include "runtime/run/node_request.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Original ids of all nodes of a type, by global id.
Result<std::vector<std::uint64_t>> original_ids(
    const std::vector<std::shared_ptr<const Part>>& parts, NodeTypeId type, std::uint64_t count) {
  std::vector<std::uint64_t> ids(count);
  for (const auto& part : parts) {
    const auto& nodes = part->nodes_of(type);
    if (nodes.original_ids.size() != nodes.count || raw(nodes.first) + nodes.count > count) {
      return Error(Errc::data_corruption,
                   fmt::format("part {}: expected original ids of its {} nodes, found {}",
                               raw(part->id), nodes.count, nodes.original_ids.size()));
    }
    std::ranges::copy(nodes.original_ids,
                      ids.begin() + static_cast<std::ptrdiff_t>(raw(nodes.first)));
  }
  return ids;
}

using EdgeRow = std::array<std::uint64_t, 4>;  ///< as LinkList has them

}  // namespace

Result<std::optional<EdgeTypeId>> edges_to_learn(const Job& job, const GraphInfo& graph) {
  if (job.task.kind != "unsupervised" || job.dataset.seeds.contains("train")) {
    return std::optional<EdgeTypeId>();
  }
  if (job.task.from_walks) {
    TROUPE_ASSIGN_OR_RETURN(const auto type, walked_type(job, graph));
    return std::optional(type);
  }
  const auto& types = graph.edge_types;
  if (job.task.edges.empty() && types.size() == 1) {
    return std::optional(EdgeTypeId{0});
  }
  const auto found = std::ranges::find(types, job.task.edges, &EdgeTypeInfo::name);
  if (found == types.end()) {
    return Error(Errc::invalid_argument,
                 fmt::format("/task/edges: expected one of the graph's {} edge types, found \"{}\"",
                             types.size(), job.task.edges));
  }
  return std::optional(static_cast<EdgeTypeId>(found - types.begin()));
}

Result<LinkList> edges_as_links(const PartitionedStore& store, EdgeTypeId type) {
  const auto& info = store.info().edge_types[raw(type)];
  std::vector<std::shared_ptr<const Part>> parts;
  for (std::uint32_t p = 0; p < store.partition().parts; ++p) {
    TROUPE_ASSIGN_OR_RETURN(auto part, store.load_lists(PartId{p}));
    parts.push_back(std::move(part));
  }
  const auto count = [&](NodeTypeId of) { return store.info().node_types[raw(of)].count; };
  TROUPE_ASSIGN_OR_RETURN(const auto sources, original_ids(parts, info.source, count(info.source)));
  TROUPE_ASSIGN_OR_RETURN(const auto destinations,
                          original_ids(parts, info.destination, count(info.destination)));
  std::vector<EdgeRow> rows;
  rows.reserve(info.count);
  for (const auto& part : parts) {
    const auto& edges = part->edges_of(type);
    const bool in = edges.in.present();
    const auto& lists = in ? edges.in : edges.out;
    const auto& own = part->nodes_of(in ? info.destination : info.source);
    for (std::uint64_t local = 0; local < own.count; ++local) {
      for (auto at = lists.offsets[local]; at < lists.offsets[local + 1]; ++at) {
        const auto node = raw(own.first) + local;
        const auto other = raw(lists.neighbours[at]);
        const auto source = in ? other : node;
        const auto destination = in ? node : other;
        rows.push_back({sources[source], destinations[destination], source, destination});
      }
    }
  }
  std::ranges::sort(rows);
  std::vector<std::uint64_t> ends;
  ends.reserve(4 * rows.size());
  for (const auto& row : rows) {
    ends.insert(ends.end(), row.begin(), row.end());
  }
  const auto kept = Segment::of(std::move(ends));
  return LinkList(type, kept.as<std::uint64_t>(), 4, {}, {}, {kept.owner});
}

Result<LinkList> nodes_as_links(const PartitionedStore& store, EdgeTypeId type) {
  const auto of_nodes = store.info().edge_types[raw(type)].source;
  TROUPE_ASSIGN_OR_RETURN(
      const auto found,
      find_nodes(store, {.sources = {"all"}, .split = "", .node_type = of_nodes}));
  std::vector<std::uint64_t> ends;
  ends.reserve(4 * found.nodes.global.size());
  for (std::size_t i = 0; i < found.nodes.global.size(); ++i) {
    const auto original = raw(found.nodes.original[i]);
    const auto global = raw(found.nodes.global[i]);
    ends.insert(ends.end(), {original, original, global, global});
  }
  const auto kept = Segment::of(std::move(ends));
  return LinkList(type, kept.as<std::uint64_t>(), 4, {}, {}, {kept.owner});
}

}  // namespace troupe
