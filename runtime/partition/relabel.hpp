#pragma once
/// \file relabel.hpp
/// From an assignment to new global ids: each (part, node type) gets one contiguous range, hottest
/// nodes first.
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/assignment.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

/// How the nodes of one part and type are numbered: by descending in-degree, by descending hotness
/// (hotness.hpp), or by original id.
enum class NodeOrder : std::uint8_t { degree, hotness, original };
std::string_view to_string(NodeOrder order) noexcept;
std::optional<NodeOrder> parse_node_order(std::string_view text) noexcept;

/// What orders the nodes of a part, largest first: [node type][original id].
using NodeHeat = std::vector<std::vector<double>>;

/// The map between original and global ids.
struct Relabelling {
  PartRanges ranges;
  std::vector<std::vector<std::uint64_t>> global_of;    ///< [node type][original id]
  std::vector<std::vector<std::uint64_t>> original_of;  ///< [node type][global id]

  /// Original ids of the nodes that a part owns, in order of global ids.
  std::span<const std::uint64_t> owned(std::size_t type, PartId part) const {
    const auto& first = ranges.first_node[type];
    const auto begin = first[raw(part)];
    return std::span(original_of[type]).subspan(begin, first[raw(part) + 1U] - begin);
  }
};

/// In-degree of every node over all edge types that end at its type.
NodeHeat in_degrees(const GraphInfo& info, const Part& graph);

/// Numbers the nodes: by part, inside a part by descending heat, ties by original id.
/// \requires assignment and heat cover every node; every part is below `parts`
Relabelling relabel(const Assignment& assignment, const NodeHeat& heat, std::uint32_t parts);

}  // namespace troupe
