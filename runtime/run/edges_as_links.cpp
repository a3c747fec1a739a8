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

void add_row(const Link& link, std::vector<std::uint64_t>& ends) {
  ends.insert(ends.end(), {raw(link.original_source), raw(link.original_destination),
                           raw(link.source), raw(link.destination)});
}

}  // namespace

Result<std::vector<EdgeTypeId>> edges_to_learn(const Job& job, const GraphInfo& graph) {
  if (job.task.kind != "unsupervised" || job.dataset.seeds.contains("train")) {
    return std::vector<EdgeTypeId>();
  }
  if (job.task.from_walks) {
    TROUPE_ASSIGN_OR_RETURN(const auto type, walked_type(job, graph));
    return std::vector{type};
  }
  const auto& types = graph.edge_types;
  if (job.task.edges.empty() && types.size() == 1) {
    return std::vector{EdgeTypeId{0}};
  }
  std::vector<std::string> names{job.task.edges};
  names.insert(names.end(), job.task.more_edges.begin(), job.task.more_edges.end());
  std::vector<EdgeTypeId> found;
  for (const auto& name : names) {
    const auto at = std::ranges::find(types, name, &EdgeTypeInfo::name);
    const auto type = static_cast<EdgeTypeId>(at - types.begin());
    if (at == types.end() || std::ranges::find(found, type) != found.end()) {
      return Error(
          Errc::invalid_argument,
          fmt::format("/task/edges: expected {} of the graph's {} edge types, found \"{}\"{}",
                      names.size() == 1 ? "one" : "some", types.size(), name,
                      at == types.end() ? "" : " twice"));
    }
    found.push_back(type);
  }
  return found;
}

Result<LinkList> edges_as_links(const PartitionedStore& store, std::span<const EdgeTypeId> types) {
  if (types.size() == 1) {
    return edges_as_links(store, types.front());
  }
  std::vector<std::uint64_t> ends;
  std::vector<LinkGroup> groups;
  for (const auto type : types) {
    TROUPE_ASSIGN_OR_RETURN(const auto links, edges_as_links(store, type));
    groups.push_back({type, ends.size() / 4, links.size()});
    for (std::uint64_t i = 0; i < links.size(); ++i) {
      add_row(links.at(i), ends);
    }
  }
  const auto kept = Segment::of(std::move(ends));
  return LinkList(types.front(), kept.as<std::uint64_t>(), 4, {}, {}, {kept.owner})
      .in_groups(std::move(groups));
}

LinkList links_in_groups(const LinkList& links, std::span<const EdgeTypeId> types) {
  std::vector<std::uint64_t> ends;
  std::vector<std::int64_t> times;
  std::vector<LinkGroup> groups;
  ends.reserve(4 * links.size());
  for (std::size_t relation = 0; relation < types.size(); ++relation) {
    const auto first = ends.size() / 4;
    for (std::uint64_t i = 0; i < links.size(); ++i) {
      if (links.labels()[i] != static_cast<float>(relation)) {
        continue;
      }
      add_row(links.at(i), ends);
      if (!links.times().empty()) {
        times.push_back(links.times()[i]);
      }
    }
    groups.push_back({types[relation], first, ends.size() / 4 - first});
  }
  const auto rows = Segment::of(std::move(ends));
  const auto kept_times = Segment::of(std::move(times));
  return LinkList(types.front(), rows.as<std::uint64_t>(), 4, kept_times.as<std::int64_t>(), {},
                  {rows.owner, kept_times.owner})
      .in_groups(std::move(groups));
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

Result<LinkList> nodes_as_links(const PartitionedStore& store, NodeTypeId type,
                                EdgeTypeId first_step) {
  TROUPE_ASSIGN_OR_RETURN(const auto found,
                          find_nodes(store, {.sources = {"all"}, .split = "", .node_type = type}));
  std::vector<std::uint64_t> ends;
  ends.reserve(4 * found.nodes.global.size());
  for (std::size_t i = 0; i < found.nodes.global.size(); ++i) {
    const auto original = raw(found.nodes.original[i]);
    const auto global = raw(found.nodes.global[i]);
    ends.insert(ends.end(), {original, original, global, global});
  }
  const auto kept = Segment::of(std::move(ends));
  return LinkList(first_step, kept.as<std::uint64_t>(), 4, {}, {}, {kept.owner}).as_pairs_of(type);
}

}  // namespace troupe
