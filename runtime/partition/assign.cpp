#include "runtime/partition/assign.hpp"

#include "runtime/base/permutation.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/assign_file.hpp"
#include "runtime/partition/assign_hotness.hpp"
#include "runtime/partition/constraints.hpp"
#include "runtime/partition/metis.hpp"
#include "runtime/partition/multilevel.hpp"
#include "runtime/partition/rebalance.hpp"
#include "runtime/partition/streaming.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

Status check_parts(const GraphInfo& graph, std::uint32_t parts) {
  std::uint64_t most = 0;
  for (const auto& type : graph.node_types) {
    most = std::max(most, type.count);
  }
  if (parts == 0 || parts > most) {
    return Error(
        Errc::invalid_argument,
        fmt::format("partition: expected 1 to {} parts (nodes of the largest type), got {}", most,
                    parts));
  }
  return ok_status();
}

Status check_method(const std::string& method, bool own) {
  const auto known = partition_methods();
  const bool is_known = std::ranges::find(known, method) != known.end();
  if (is_known != own && (!own || store_layout::is_valid_name(method))) {
    return ok_status();
  }
  if (own) {
    return Error(Errc::invalid_argument,
                 fmt::format("partition: expected a name for the method other than {}, got \"{}\"",
                             fmt::join(known, ", "), method));
  }
  return Error(Errc::invalid_argument, fmt::format("partition: expected a method of {}, got \"{}\"",
                                                   fmt::join(known, ", "), method));
}

bool uses_metis(const std::string& method) {
  return method == "metis" || method == "multilevel";
}

bool keeps_limits(const std::string& method) {
  return method == "ldg" || method == "fennel" || uses_metis(method);
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
                        const AssignOptions& options) {
  const auto wrong = [&](const std::string& expected, std::uint64_t found) {
    return Error(Errc::invalid_argument,
                 fmt::format("partition method \"{}\": expected {}, found {}", options.method,
                             expected, found));
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

Result<Assignment> assign_by_own(const GraphStore& graph, const AssignOptions& options,
                                 Executor& executor) {
  TROUPE_ASSIGN_OR_RETURN(auto assignment, options.own(graph, options.parts, executor));
  TROUPE_RETURN_IF_ERROR(check_assignment(graph.info(), assignment, options));
  return assignment;
}

/// By one of the methods that need no undirected view.
Result<Assignment> assign_each(const GraphStore& graph, const AssignOptions& options,
                               Executor& executor) {
  if (options.own) {
    return assign_by_own(graph, options, executor);
  }
  if (options.method == "hotness") {
    return assign_by_hotness(graph, options, executor);
  }
  const auto& info = graph.info();
  if (options.method == "hash") {
    return assign_hash(info, options.parts, options.seed);
  }
  return options.method == "file" ? assign_from_file(info, options.parts, options.more.file)
                                  : assign_random(info, options.parts, options.seed);
}

Result<std::vector<std::uint32_t>> assign_vertices(const Adjacency& graph,
                                                   const Constraints& constraints,
                                                   const AssignOptions& options,
                                                   Executor& executor) {
  if (options.method == "metis") {
    TROUPE_ASSIGN_OR_RETURN(auto part_of, assign_metis(graph, constraints, options));
    rebalance(graph, constraints, part_of, options.parts);
    return part_of;
  }
  if (options.method == "multilevel") {
    return assign_multilevel(graph, constraints, options, executor);
  }
  using Score = StreamingOptions::Score;
  return assign_streaming(graph, constraints,
                          {.score = options.method == "ldg" ? Score::ldg : Score::fennel,
                           .parts = options.parts,
                           .passes = options.more.passes},
                          executor);
}

}  // namespace

std::vector<std::string> partition_methods() {
  return {"random", "hash", "ldg", "fennel", "metis", "multilevel", "hotness", "file"};
}

Result<Assigned> assign(const GraphStore& graph, const AssignOptions& options, Executor& executor) {
  const auto& more = options.more;
  TROUPE_RETURN_IF_ERROR(check_method(options.method, options.own != nullptr));
  TROUPE_RETURN_IF_ERROR(check_parts(graph.info(), options.parts));
  if (more.passes == 0) {
    return Error(Errc::invalid_argument, "partition: expected at least 1 pass, got 0");
  }
  const bool whole = keeps_limits(options.method);
  Assignment parts;
  if (!whole) {
    begin_stage(options.on_stage, options.method);
    TROUPE_ASSIGN_OR_RETURN(parts, assign_each(graph, options, executor));
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
  begin_stage(options.on_stage, options.method);
  TROUPE_ASSIGN_OR_RETURN(const auto part_of,
                          assign_vertices(adjacency, constraints, options, executor));
  begin_stage(options.on_stage, "measures");
  return Assigned{by_type(adjacency, part_of),
                  measure(adjacency, constraints, part_of, options.parts, executor)};
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
  shown.emplace_back("split", more.split);
}

std::vector<std::pair<std::string, std::string>> options_of(const AssignOptions& options) {
  const auto& more = options.more;
  std::vector<std::pair<std::string, std::string>> shown;
  const auto& method = options.method;
  if (method == "random" || method == "hash" || method == "hotness" || uses_metis(method)) {
    shown.emplace_back("seed", std::to_string(options.seed));
  }
  if (keeps_limits(method)) {
    shown.emplace_back("balance", fmt::format("{}", fmt::join(more.balance, ",")));
    shown.emplace_back("imbalance", fmt::format("{}", more.imbalance));
    const auto role = [](const std::string& name) { return name != "nodes" && name != "edges"; };
    if (std::ranges::any_of(more.balance, role)) {
      shown.emplace_back("split", more.split);
    }
  }
  if (method == "hotness") {
    add_hotness_options(more, shown);
  }
  if (method == "ldg" || method == "fennel") {
    shown.emplace_back("passes", std::to_string(more.passes));
  }
  if (uses_metis(method)) {
    shown.emplace_back("objective", more.objective);
    shown.emplace_back("recursive", more.recursive ? "yes" : "no");
    shown.emplace_back("tries", std::to_string(more.tries));
  }
  std::ranges::sort(shown);
  return shown;
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
