#include "runtime/graph/node_counts.hpp"

#include "runtime/graph/store_layout.hpp"

namespace troupe {

UnconfirmedCount find_unconfirmed_count(const GraphInfo& info) {
  for (std::size_t type = 0; type < info.node_types.size(); ++type) {
    const auto& nodes = info.node_types[type];
    bool confirmed = (nodes.features && nodes.features->cols > 0) || !nodes.columns.empty() ||
                     (nodes.labels && (nodes.labels->kind == LabelInfo::Kind::classes ||
                                       nodes.labels->classes > 0));
    std::uint64_t edges = 0;
    for (const auto& edge_type : info.edge_types) {
      confirmed = confirmed || raw(edge_type.destination) == type;  // offsets, one per node
      edges += raw(edge_type.source) == type ? edge_type.count : 0;
    }
    if (!confirmed && nodes.count > store_layout::most_implied_nodes(edges)) {
      return {&nodes, edges};
    }
  }
  return {};
}

}  // namespace troupe
