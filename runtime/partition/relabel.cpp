#include "runtime/partition/relabel.hpp"

#include <algorithm>

namespace troupe {

NodeHeat in_degrees(const GraphInfo& info, const Part& graph) {
  NodeHeat degrees;
  for (const auto& type : info.node_types) {
    degrees.emplace_back(type.count, 0);
  }
  for (std::size_t type = 0; type < info.edge_types.size(); ++type) {
    const auto& lists = graph.edges[type].in;
    auto& of_type = degrees[raw(info.edge_types[type].destination)];
    for (std::uint64_t node = 0; node < of_type.size(); ++node) {
      of_type[node] += static_cast<double>(lists.degree(node));
    }
  }
  return degrees;
}

std::string_view to_string(NodeOrder order) noexcept {
  switch (order) {
    case NodeOrder::degree:
      return "degree";
    case NodeOrder::hotness:
      return "hotness";
    case NodeOrder::original:
      break;
  }
  return "original";
}

std::optional<NodeOrder> parse_node_order(std::string_view text) noexcept {
  for (const auto order : {NodeOrder::degree, NodeOrder::hotness, NodeOrder::original}) {
    if (to_string(order) == text) {
      return order;
    }
  }
  return std::nullopt;
}

Relabelling relabel(const Assignment& assignment, const NodeHeat& heat, std::uint32_t parts) {
  Relabelling result;
  for (std::size_t type = 0; type < assignment.size(); ++type) {
    const auto& part_of = assignment[type];
    std::vector<std::vector<std::uint64_t>> members(parts);  // ascending original ids
    for (std::uint64_t node = 0; node < part_of.size(); ++node) {
      members[raw(part_of[node])].push_back(node);
    }
    std::vector<std::uint64_t> first{0};
    std::vector<std::uint64_t> original;
    original.reserve(part_of.size());
    for (auto& nodes : members) {
      std::ranges::stable_sort(nodes, std::ranges::greater(),
                               [&](std::uint64_t node) { return heat[type][node]; });
      original.insert(original.end(), nodes.begin(), nodes.end());
      first.push_back(original.size());
    }
    std::vector<std::uint64_t> global(part_of.size());
    for (std::uint64_t id = 0; id < original.size(); ++id) {
      global[original[id]] = id;
    }
    result.ranges.first_node.push_back(std::move(first));
    result.global_of.push_back(std::move(global));
    result.original_of.push_back(std::move(original));
  }
  return result;
}

}  // namespace troupe
