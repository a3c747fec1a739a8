#include "runtime/partition/assign_range.hpp"

#include "runtime/base/saturating.hpp"

namespace troupe {

Assignment assign_range(const GraphInfo& graph, std::uint32_t parts) {
  Assignment assignment;
  for (const auto& type : graph.node_types) {
    std::vector<PartId> part_of(type.count);
    for (std::uint64_t i = 0; i < type.count; ++i) {
      part_of[i] = static_cast<PartId>(proportion(parts, i, type.count));
    }
    assignment.push_back(std::move(part_of));
  }
  return assignment;
}

}  // namespace troupe
