#include "launcher/print_graph.hpp"

#include <fmt/format.h>

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
  for (const auto& type : graph.edge_types) {
    fmt::print("edges {}: {} ({} -> {})\n", type.name, type.count,
               graph.node_types[raw(type.source)].name,
               graph.node_types[raw(type.destination)].name);
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
