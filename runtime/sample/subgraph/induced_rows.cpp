#include "runtime/sample/subgraph/induced_rows.hpp"

#include "runtime/graph/edge_data.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

InducedNodes::InducedNodes(const BatchNodes& nodes, std::uint64_t count)
    : nodes_(nodes), count_(count), distinct_(nodes.ids) {
  index_.reserve(nodes.ids.size());
  for (std::uint32_t i = 0; i < nodes.ids.size(); ++i) {
    const std::uint64_t tree = disjoint() ? nodes.trees[i] : 0;
    index_.find_or_insert(tree * count + raw(nodes.ids[i]), i);
  }
  std::ranges::sort(distinct_);
  distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
}

Status add_induced(const InducedEntries& entries, const InducedNodes& nodes, BatchEdges& edges) {
  for (std::size_t at = entries.first; at < entries.first + entries.count; ++at) {
    const auto neighbour = raw(entries.answer.neighbours[at]);
    const auto found = nodes.find(neighbour, entries.tree);
    if (!found && !nodes.disjoint()) {
      return Error(Errc::data_corruption,
                   fmt::format("sampling: expected neighbors among the {} nodes of the batch, got "
                               "node {}",
                               nodes.distinct().size(), neighbour));
    }
    if (found) {
      edges.sources.push_back(*found);
      each_edge_datum(
          [at]<class T>(PooledVector<T>& to, auto values) {
            if (!values.empty()) {
              to.push_back(static_cast<T>(values[at]));
            }
          },
          edges, entries.answer);
    }
  }
  return ok_status();
}

}  // namespace troupe
