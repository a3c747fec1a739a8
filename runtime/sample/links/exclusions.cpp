#include "runtime/sample/links/exclusions.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe {

void Exclusions::finish() {
  for (auto& type : types_) {
    std::ranges::sort(type.edges);
    type.edges.erase(std::unique(type.edges.begin(), type.edges.end()), type.edges.end());
    type.first.reserve(type.edges.size());
    for (std::size_t i = 0; i < type.edges.size(); ++i) {
      type.first.find_or_insert(raw(type.edges[i].first), static_cast<std::uint32_t>(i));
    }
  }
}

PooledVector<ExcludedEdges> Exclusions::of(EdgeTypeId type,
                                           std::span<const NodeId> frontier) const {
  const auto& [edges, first] = types_[raw(type)];
  PooledVector<ExcludedEdges> found;
  for (std::size_t place = 0; !edges.empty() && place < frontier.size(); ++place) {
    const auto at = first.find(raw(frontier[place]));
    for (std::size_t i = at.value_or(static_cast<std::uint32_t>(edges.size()));
         i < edges.size() && edges[i].first == frontier[place]; ++i) {
      found.push_back({place, edges[i].second});
    }
  }
  return found;
}

}  // namespace troupe
