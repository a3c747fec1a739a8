#include "gpu/sample/graph_arrays.hpp"

#include "gpu/sample/number_bodies.hpp"
#include "runtime/sample/batch_builder.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <string_view>

namespace troupe::gpu {
namespace {

Error no_kernel(std::string_view setting) {
  return {
      Errc::unimplemented,
      fmt::format("sampling on a device: {} not built yet\ntry: sampling on the host", setting)};
}

/// Keeps what batches of an edge type read.
Status take_lists(const GraphInfo& graph, const Part& part, const SampleOptions& options,
                  std::size_t type, GraphArrays::Lists& to) {
  const auto& from = part.edges[type].lists(options.dir);
  const auto& name = graph.edge_types[type].name;
  const auto missing = [&](std::string_view what) -> Status {
    return Error(Errc::failed_precondition,
                 fmt::format("sampling on a device: part {} has no {} of edge type \"{}\"",
                             raw(part.id), what, name));
  };
  const auto rows = part.nodes_of(to.destination_type).count;
  const auto other = options.dir == EdgeDir::in ? CompleteFor::out : CompleteFor::in;
  if (from.offsets.size() != rows + 1 || part.complete_for == other) {
    return missing(fmt::format("whole {}-lists", to_string(options.dir)));
  }
  TROUPE_RETURN_IF_ERROR(try_each_stored_datum(
      [&](bool wanted, const auto& of_lists, std::string_view what) {
        return wanted && of_lists.size() != from.neighbours.size() ? missing(what) : ok_status();
      },
      to.data, from, edge_data_names));
  if (to.data.entries && !part.edges[type].main_lists(options.dir)) {
    return missing(fmt::format("features beside the {}-lists", to_string(options.dir)));
  }
  for (std::size_t row = 0; row < rows; ++row) {
    if (from.degree(row) > std::numeric_limits<std::uint32_t>::max()) {
      return Error(Errc::unimplemented,
                   fmt::format("sampling on a device: edge type \"{}\": node {} has degree {}, at "
                               "most 2^32-1 works",
                               name, row, from.degree(row)));
    }
  }
  const auto drawn = list_tables(options).aliases;
  if (std::ranges::find(drawn, static_cast<EdgeTypeId>(type)) != drawn.end()) {
    if (from.aliases.size() != from.neighbours.size()) {
      return missing("alias tables");
    }
    to.lists.aliases = from.aliases;
    to.lists.zero_weights = from.zero_weights;
  }
  to.lists.offsets = from.offsets;
  to.lists.neighbours = from.neighbours;
  to.lists.edge_ids = to.data.edge_ids ? from.edge_ids : std::span<const std::uint64_t>();
  to.lists.weights = to.data.weights ? from.weights : std::span<const float>();
  to.lists.times = to.data.times ? from.times : std::span<const std::int64_t>();
  return ok_status();
}

EdgeData edge_data_of_batches(const GraphInfo& graph, const SampleOptions& options,
                              std::size_t type) {
  auto data = options.edge_data & edge_data_of(graph.edge_types[type]);
  data.entries =
      data.entries || std::ranges::find(options.entries_of, static_cast<EdgeTypeId>(type)) !=
                          options.entries_of.end();
  return data;
}

}  // namespace

std::uint64_t GraphArrays::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& of_type : nodes) {
    sum += of_type.original_ids.size_bytes();
  }
  for (const auto& of_type : lists) {
    const auto& from = of_type.lists;
    sum += from.offsets.size_bytes() + from.aliases.size_bytes();
    sum += from.neighbours.size() * from.neighbours.width_bytes();
    each_stored_datum([&](const auto& values) { sum += values.size_bytes(); }, from);
  }
  return sum;
}

Status check_device_sampling(const SampleOptions& options) {
  const auto& kind = choice_kinds()[options.choice];
  if (kind.name != "uniform" && kind.name != "weighted") {
    return no_kernel(fmt::format("choice \"{}\" is", kind.name));
  }
  if (options.walks) {
    return no_kernel("random walks are");
  }
  if (options.time || options.disjoint) {
    return no_kernel(options.time ? "times of seeds are" : "disjoint batches are");
  }
  if (options.links) {
    return no_kernel("links as seeds are");
  }
  if (options.subgraph != Subgraph::directional) {
    return no_kernel("batches with edges that were not drawn are");
  }
  return ok_status();
}

Result<GraphArrays> arrays_for_device(const GraphInfo& graph, const Part& part,
                                      const SampleOptions& options) {
  TROUPE_RETURN_IF_ERROR(check_device_sampling(options));
  GraphArrays arrays;
  for (std::size_t type = 0; type < graph.node_types.size(); ++type) {
    const auto& nodes = part.nodes[type];
    const auto count = graph.node_types[type].count;
    if (raw(nodes.first) != 0 || nodes.count != count) {
      return Error(Errc::failed_precondition,
                   fmt::format("sampling on a device: expected all {} nodes of type \"{}\" in part "
                               "{}, it has {}\ntry: one part, or sampling on the host",
                               count, graph.node_types[type].name, raw(part.id), nodes.count));
    }
    arrays.nodes.push_back({.count = count, .id_bytes = id_width_bytes(count)});
  }
  for (std::size_t type = 0; type < graph.edge_types.size(); ++type) {
    const auto& info = graph.edge_types[type];
    auto& to = arrays.lists.emplace_back();
    to.destination_type = info.list_type(options.dir);
    to.source_type = info.neighbour_type(options.dir);
    to.data = edge_data_of_batches(graph, options, type);
    if (is_sampled(options.fanout, type)) {
      TROUPE_RETURN_IF_ERROR(take_lists(graph, part, options, type, to));
      arrays.nodes[raw(to.destination_type)].original_ids =
          part.nodes_of(to.destination_type).original_ids;
    }
  }
  for (const auto& of_type :
       arrays.lists) {  // all lists of a store that name a type have its width
    auto& bytes = arrays.nodes[raw(of_type.source_type)].id_bytes;
    bytes =
        std::max(bytes, of_type.lists.present() ? of_type.lists.neighbours.width_bytes() : bytes);
  }
  for (const auto& of_type : arrays.lists) {
    const auto expected = arrays.nodes[raw(of_type.source_type)].id_bytes;
    if (of_type.lists.present() && of_type.lists.neighbours.width_bytes() != expected) {
      return Error(Errc::failed_precondition,
                   fmt::format("sampling on a device: expected ids of node type \"{}\" of {} bytes "
                               "in all lists, got {}",
                               graph.node_types[raw(of_type.source_type)].name, expected,
                               of_type.lists.neighbours.width_bytes()));
    }
  }
  return arrays;
}

Error too_many_candidates(std::size_t node_type, std::uint64_t nodes) {
  return {Errc::invalid_argument,
          fmt::format("sampling on a device: a hop leads to fewer than 2^31 nodes of a type, node "
                      "type {} has {}\ntry: a smaller batch size or fanout",
                      node_type, nodes)};
}

Error too_many_edges(std::size_t edge_type, std::uint64_t edges) {
  return {Errc::invalid_argument,
          fmt::format("sampling on a device: a batch holds fewer than 2^32 edges of a type, edge "
                      "type {} has {}\ntry: a smaller batch size or fanout",
                      edge_type, edges)};
}

SamplingPlan sampling_plan(const SampleOptions& options) {
  return {.fanout = options.fanout,
          .replace = options.replace,
          .weighted = choice_kinds()[options.choice].needs_weights,
          .shared = options.shared,
          .frontier = options.frontier,
          .domain = choice_kinds()[options.choice].domain,
          .job_seed = options.job_seed};
}

Result<std::vector<SeedsOfType>> seeds_for_device(std::span<const std::uint64_t> counts,
                                                  const BatchSeeds& seeds) {
  if (seeds.excluded) {
    return no_kernel("excluded edges are");
  }
  if (seeds.groups.empty() || seeds.size() > most_candidates) {
    return Error(Errc::invalid_argument,
                 fmt::format("sampling on a device: expected a group of seeds at least and fewer "
                             "than 2^31 seeds, got {} groups of {}",
                             seeds.groups.size(), seeds.size()));
  }
  std::vector<SeedsOfType> groups;
  for (const auto& [type, nodes] : seeds.groups) {
    const auto count = raw(type) < counts.size() ? counts[raw(type)] : 0;
    const auto bad = std::ranges::find_if(nodes, [&](NodeId id) { return raw(id) >= count; });
    if (bad != nodes.end()) {
      return Error(Errc::invalid_argument,
                   fmt::format("sampling on a device: seed {} of node type {}, which has {} nodes",
                               raw(*bad), raw(type), count));
    }
    if (raw(type) >= counts.size()) {
      return Error(Errc::invalid_argument,
                   fmt::format("sampling on a device: seeds of node type {}, of {}", raw(type),
                               counts.size()));
    }
    groups.push_back({type, nodes});
  }
  return groups;
}

}  // namespace troupe::gpu
