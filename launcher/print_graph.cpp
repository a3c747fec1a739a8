#include "launcher/print_graph.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>

namespace troupe {

void print_graph(const GraphInfo& graph) {
  for (const auto& type : graph.node_types) {
    fmt::print("nodes {}: {}", type.name, type.count);
    if (type.features) {
      fmt::print(", features {} x {}", type.features->cols, to_string(type.features->dtype));
    }
    if (type.labels) {
      fmt::print(", {} {}", type.labels->classes,
                 type.labels->kind == LabelInfo::Kind::classes ? "classes" : "target columns");
    }
    fmt::print("\n");
  }
  const auto shown = std::min(graph.edge_types.size(), most_types_shown);
  for (const auto& type : std::span(graph.edge_types).first(shown)) {
    fmt::print("edges {}: {} ({} -> {})\n", type.name, type.count,
               graph.node_types[raw(type.source)].name,
               graph.node_types[raw(type.destination)].name);
  }
  if (shown < graph.edge_types.size()) {
    std::uint64_t edges = 0;
    for (const auto& type : graph.edge_types) {
      edges += type.count;
    }
    fmt::print("… {} edge types with {} edges in all\n", graph.edge_types.size(), edges);
  }
  for (const auto& split : graph.splits) {
    fmt::print("split \"{}\":", split.name);
    for (const auto& [role, seeds] : split.roles) {
      fmt::print(" {} {}", role, seeds.count);
    }
    fmt::print("\n");
  }
}

}  // namespace troupe
