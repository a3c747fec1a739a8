#pragma once
/// \file relabel.hpp
/// From an assignment to new global ids: each (part, node type) gets one contiguous range, hottest
/// nodes first.
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/partitioner.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// The map between original and global ids.
struct Relabelling {
  PartRanges ranges;
  std::vector<std::vector<std::uint64_t>> global_of;    ///< [node type][original id]
  std::vector<std::vector<std::uint64_t>> original_of;  ///< [node type][global id]
};

/// In-degree of every node over all edge types that end at its type: [node type][original id].
std::vector<std::vector<std::uint64_t>> in_degrees(const GraphInfo& info, const Part& graph);

/// Numbers the nodes: by part, inside a part by descending heat, ties by original id.
/// \requires assignment and heat cover every node; every part is below `parts`
Relabelling relabel(const Assignment& assignment,
                    const std::vector<std::vector<std::uint64_t>>& heat, std::uint32_t parts);

}  // namespace troupe
