#include "launcher/print_graph.hpp"

#include "runtime/graph/npy.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

/// "links cites", "links triple of 237 relations" or "links of 237 edge types"
std::string kind_of_links(const GraphInfo& graph, const SplitInfo::LinkRole& links) {
  if (!links.edge_types.empty()) {
    return fmt::format("links of {} edge types", links.edge_types.size());
  }
  const std::string_view type = graph.edge_types[raw(links.edge_type)].name;
  return links.relations == 0 ? fmt::format("links {}", type)
                              : fmt::format("links {} of {} relations", type, links.relations);
}

/// " links cites train 900 val 50": the edge type once where it is that of all roles.
void print_links(const GraphInfo& graph, const SplitInfo& split) {
  std::string shown;
  for (const auto& [role, links] : split.links) {
    auto kind = kind_of_links(graph, links);
    if (kind != shown) {
      fmt::print(" {}", kind);
      shown = std::move(kind);
    }
    fmt::print(" {} {}", role, links.count);
  }
}

/// ", columns age i64, tags f32 [4]"
void print_columns(const std::vector<ColumnInfo>& columns) {
  for (const auto& column : columns) {
    fmt::print("{} {} {}{}", &column == columns.data() ? ", columns" : ",", column.name,
               to_string(column.dtype), column.shape.empty() ? "" : " " + shape_text(column.shape));
  }
}

}  // namespace

void print_graph(const GraphInfo& graph) {
  for (const auto& type : graph.node_types) {
    fmt::print("nodes {}: {}", type.name, type.count);
    if (type.features) {
      fmt::print(", features {} x {}", type.features->cols, to_string(type.features->dtype));
    }
    if (type.labels) {
      const char* const names[] = {"classes", "target columns", "columns of numbers"};
      fmt::print(", {} {}", type.labels->classes,
                 names[static_cast<std::size_t>(type.labels->kind)]);
    }
    print_columns(type.columns);
    fmt::print("\n");
  }
  const auto shown = std::min(graph.edge_types.size(), most_types_shown);
  for (const auto& type : std::span(graph.edge_types).first(shown)) {
    fmt::print("edges {}: {} ({} -> {})", type.name, type.count,
               graph.node_types[raw(type.source)].name,
               graph.node_types[raw(type.destination)].name);
    print_columns(type.columns);
    fmt::print("\n");
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
    print_links(graph, split);
    fmt::print("\n");
  }
}

}  // namespace troupe
