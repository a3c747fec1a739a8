#include "launcher/print_partition.hpp"

#include "launcher/print_graph.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

namespace {

/// How many edges lie in a part, by type where there are not too many types.
void print_edges(const PartitionInfo& partition, const GraphInfo& graph, std::uint32_t part) {
  std::uint64_t all = 0;
  for (std::size_t e = 0; e < partition.edges.size(); ++e) {
    const auto edges = partition.edges[e][part];
    all += edges;
    if (partition.edges.size() <= most_types_shown) {
      fmt::print(" {} {} edges", graph.edge_types[e].name, edges);
    }
  }
  if (partition.edges.size() > most_types_shown) {
    fmt::print(" {} edges", all);
  }
}

}  // namespace

void print_partition(const PartitionInfo& partition, const GraphInfo& graph) {
  std::uint64_t edges = 0;
  for (const auto& type : graph.edge_types) {
    edges += type.count;
  }
  fmt::print("{} parts by {}, complete for {}, in order of {}; {} of {} edges cut ({:.2f} %)\n",
             partition.parts, partition.method, to_string(partition.complete_for), partition.order,
             partition.cut_edges, edges,
             edges == 0
                 ? 0.0
                 : 100.0 * static_cast<double>(partition.cut_edges) / static_cast<double>(edges));
  if (partition.communication_volume) {
    fmt::print("communication volume {}", *partition.communication_volume);
    for (const auto& entry : partition.balance) {
      fmt::print("; {} {:.3f}", entry.name,
                 static_cast<double>(entry.largest) * partition.parts /
                     static_cast<double>(std::max<std::uint64_t>(entry.total, 1)));
    }
    fmt::print(" (largest part over average)\n");
  }
  for (const auto& option : partition.options) {
    fmt::print("{} {}\n", option.first, option.second.empty() ? "-" : option.second);
  }
  if (partition.halo_hops > 0 || partition.halo_features) {
    fmt::print("halo: lists of nodes up to {} hops away, {} features\n", partition.halo_hops,
               partition.halo_features ? "with" : "without");
  }
  if (partition.features_later) {
    fmt::print("features by troupe add-features, part by part\n");
  }
  for (std::uint32_t p = 0; p < partition.parts; ++p) {
    fmt::print("part {}:", p);
    for (std::size_t t = 0; t < graph.node_types.size(); ++t) {
      const auto& first = partition.ranges.first_node[t];
      fmt::print(" {} [{}, {})", graph.node_types[t].name, first[p], first[p + 1]);
    }
    print_edges(partition, graph, p);
    for (std::size_t t = 0; t < partition.halo_nodes.size(); ++t) {
      fmt::print(" {} {} in the halo", partition.halo_nodes[t][p], graph.node_types[t].name);
    }
    fmt::print("\n");
  }
}

}  // namespace troupe
