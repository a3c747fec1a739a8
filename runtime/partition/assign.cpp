#include "runtime/partition/assign.hpp"

#include "runtime/base/permutation.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/constraints.hpp"
#include "runtime/partition/methods.hpp"
#include "runtime/partition/metis.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <type_traits>
#include <variant>

namespace troupe {
namespace {

Status check_parts(const GraphInfo& graph, std::uint32_t parts) {
  std::uint64_t most = 0;
  for (const auto& type : graph.node_types) {
    most = std::max(most, type.count);
  }
  if (most == 0) {
    return Error(Errc::invalid_argument,
                 "partition: expected a graph with nodes, found none of any type");
  }
  if (parts == 0 || parts > most) {
    return Error(
        Errc::invalid_argument,
        fmt::format("partition: expected 1 to {} parts (nodes of the largest type), got {}", most,
                    parts));
  }
  return ok_status();
}

Status check_own_name(const std::string& method) {
  const auto known = partition_methods();
  if (find_kind(known, method) == nullptr && store_layout::is_valid_name(method)) {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("partition: expected a name for the method other than {}, got \"{}\"",
                           fmt::join(names_of(known), ", "), method));
}

std::vector<std::uint32_t> by_vertex(const Assignment& assignment) {
  std::vector<std::uint32_t> part_of;
  for (const auto& of_type : assignment) {
    for (const auto part : of_type) {
      part_of.push_back(raw(part));
    }
  }
  return part_of;
}

Assignment by_type(const Adjacency& graph, const std::vector<std::uint32_t>& part_of) {
  Assignment assignment(graph.types());
  for (std::size_t type = 0; type < graph.types(); ++type) {
    for (auto v = graph.first_vertex(type); v < graph.first_vertex(type + 1); ++v) {
      assignment[type].push_back(static_cast<PartId>(part_of[v]));
    }
  }
  return assignment;
}

/// Every node of every type has a part.
Status check_assignment(const GraphInfo& graph, const Assignment& assignment,
                        const AssignOptions& options, std::string_view method) {
  const auto wrong = [&](const std::string& expected, std::uint64_t found) {
    return Error(
        Errc::invalid_argument,
        fmt::format("partition method \"{}\": expected {}, found {}", method, expected, found));
  };
  if (assignment.size() != graph.node_types.size()) {
    return wrong(fmt::format("parts of {} node types", graph.node_types.size()), assignment.size());
  }
  for (std::size_t type = 0; type < assignment.size(); ++type) {
    const auto& info = graph.node_types[type];
    if (assignment[type].size() != info.count) {
      return wrong(fmt::format("parts of {} nodes of type \"{}\"", info.count, info.name),
                   assignment[type].size());
    }
    for (const auto part : assignment[type]) {
      if (raw(part) >= options.parts) {
        return wrong(
            fmt::format("parts below {} for nodes of type \"{}\"", options.parts, info.name),
            raw(part));
      }
    }
  }
  return ok_status();
}

std::string text_of(bool value) {
  return value ? "yes" : "no";
}
std::string text_of(const std::filesystem::path& value) {
  return value.string();
}
template <class T>
std::string text_of(const std::vector<T>& value) {
  return fmt::format("{}", fmt::join(value, ","));
}
template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}
template <class T>
std::string text_of(const T& value) {
  return fmt::format("{}", value);
}

std::string value_text(const MethodOptions& options, const PartitionOption& option) {
  return std::visit(
      [&](auto field) -> std::string {
        if constexpr (std::is_same_v<decltype(field), std::monostate>) {
          return "";
        } else {
          return text_of(options.*field);
        }
      },
      option.field);
}

}  // namespace

Result<Assigned> assign(const GraphStore& graph, const AssignOptions& options,
                        const PartitionMethod& method, Executor& executor) {
  const auto& more = options.more;
  TROUPE_RETURN_IF_ERROR(check_parts(graph.info(), options.parts));
  if (more.passes == 0) {
    return Error(Errc::invalid_argument, "partition: expected at least 1 pass, got 0");
  }
  if (method.metis) {
    TROUPE_RETURN_IF_ERROR(check_metis_built(method.name));
  }
  const bool whole = method.assign_vertices != nullptr;
  Assignment parts;
  if (!whole) {
    begin_stage(options.on_stage, method.name);
    TROUPE_ASSIGN_OR_RETURN(parts, method.assign_nodes(graph, options, executor));
    TROUPE_RETURN_IF_ERROR(check_assignment(graph.info(), parts, options, method.name));
  }
  TROUPE_ASSIGN_OR_RETURN(
      const auto constraints,
      Constraints::make(graph,
                        {.names = more.balance, .split = more.split, .imbalance = more.imbalance}));
  if (!whole) {
    begin_stage(options.on_stage, "measures");
    auto measures = measure(graph, constraints, by_vertex(parts), options.parts, executor);
    return Assigned{std::move(parts), std::move(measures)};
  }
  begin_stage(options.on_stage, "view");
  TROUPE_ASSIGN_OR_RETURN(const auto adjacency, Adjacency::make(graph, options.view, executor));
  begin_stage(options.on_stage, method.name);
  TROUPE_ASSIGN_OR_RETURN(const auto part_of,
                          method.assign_vertices(adjacency, constraints, options, executor));
  begin_stage(options.on_stage, "measures");
  return Assigned{by_type(adjacency, part_of),
                  measure(adjacency, constraints, part_of, options.parts, executor)};
}

Result<Assigned> assign(const GraphStore& graph, const AssignOptions& options, Executor& executor) {
  if (options.own) {
    TROUPE_RETURN_IF_ERROR(check_own_name(options.method));
    const PartitionMethod own{
        .name = options.method,
        .help = "a method of the caller's",
        .assign_nodes = [](const GraphStore& store, const AssignOptions& how, Executor& threads) {
          return how.own(store, how.parts, threads);
        }};
    return assign(graph, options, own, executor);
  }
  const auto known = partition_methods();
  const auto* method = find_kind(known, options.method);
  if (method == nullptr) {
    return Error(Errc::invalid_argument,
                 fmt::format("partition: expected a method of {}, got \"{}\"",
                             fmt::join(names_of(known), ", "), options.method));
  }
  return assign(graph, options, *method, executor);
}

void add_hotness_options(const MethodOptions& more,
                         std::vector<std::pair<std::string, std::string>>& shown) {
  std::vector<std::string> hops;
  for (const auto& fanouts : more.hotness.fanout) {
    hops.push_back(fmt::format("{}", fmt::join(fanouts, ":")));
  }
  shown.emplace_back("fanout", fmt::format("{}", fmt::join(hops, ",")));
  shown.emplace_back("batch_size", std::to_string(more.hotness.batch_size));
  shown.emplace_back("edge_dir", to_string(more.hotness.dir));
  shown.emplace_back("replace", more.hotness.replace ? "yes" : "no");
  shown.emplace_back("frontier", more.hotness.all_nodes ? "all" : "new");
  if (more.hotness.nodes) {
    shown.emplace_back("seeds", fmt::format("nodes of type {}", raw(*more.hotness.nodes)));
  } else if (!more.hotness.edges.empty()) {
    std::vector<std::uint16_t> types;
    std::ranges::transform(more.hotness.edges, std::back_inserter(types),
                           [](EdgeTypeId type) { return raw(type); });
    shown.emplace_back("seeds", fmt::format("edges of types {}", fmt::join(types, ",")));
  } else if (more.hotness.links) {
    shown.emplace_back("seeds", "links");
  }
  shown.emplace_back("split", more.split);
}

std::vector<std::pair<std::string, std::string>> options_of(const AssignOptions& options,
                                                            const PartitionMethod& method) {
  std::vector<std::pair<std::string, std::string>> shown;
  for (const auto& option : partition_options()) {
    if (!reads_option(method, option.name)) {
      continue;
    }
    if (option.show != nullptr) {
      option.show(options, shown);
    } else {
      shown.emplace_back(option.name, value_text(options.more, option));
    }
  }
  std::ranges::sort(shown);
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  return shown;
}

std::vector<std::pair<std::string, std::string>> options_of(const AssignOptions& options) {
  const auto* method = find_kind(partition_methods(), options.method);
  return method == nullptr ? std::vector<std::pair<std::string, std::string>>()
                           : options_of(options, *method);
}

Result<Assignment> assign_random(const GraphInfo& graph, std::uint32_t parts, std::uint64_t seed) {
  TROUPE_RETURN_IF_ERROR(check_parts(graph, parts));
  Assignment assignment;
  for (std::size_t type = 0; type < graph.node_types.size(); ++type) {
    const auto count = graph.node_types[type].count;
    const Permutation permutation(
        stream_key(seed, {.domain = Domain::generators, .type = static_cast<std::uint16_t>(type)}),
        count);
    std::vector<PartId> part_of(count);
    // part(i) = i * parts / count, without the product: the remainder is carried along
    std::uint64_t remainder = 0;
    std::uint64_t part = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      part_of[permutation(i)] = static_cast<PartId>(part);
      remainder += parts;
      part += remainder / count;
      remainder %= count;
    }
    assignment.push_back(std::move(part_of));
  }
  return assignment;
}

Result<Assignment> assign_hash(const GraphInfo& graph, std::uint32_t parts, std::uint64_t seed) {
  TROUPE_RETURN_IF_ERROR(check_parts(graph, parts));
  Assignment assignment;
  for (std::size_t type = 0; type < graph.node_types.size(); ++type) {
    const auto key = stream_key(
        seed, {.domain = Domain::generators, .type = static_cast<std::uint16_t>(type), .hop = 1});
    std::vector<PartId> part_of;
    for (std::uint64_t i = 0; i < graph.node_types[type].count; ++i) {
      part_of.push_back(static_cast<PartId>(DrawStream(key, i).below(parts)));
    }
    assignment.push_back(std::move(part_of));
  }
  return assignment;
}

}  // namespace troupe
