#include "runtime/data/npy_import.hpp"

#include "runtime/data/npy_graph.hpp"
#include "runtime/data/npy_source.hpp"
#include "runtime/data/table.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

using namespace npy_source;

/// What a directory holds.
Result<graph_source::Graph> open_directory(const Source& source, const ImportOptions& options,
                                           Executor& executor) {
  graph_source::Graph graph;
  auto& nodes = graph.nodes.emplace_back();
  nodes.name = source.meta.node_type;
  nodes.count = source.meta.num_nodes;
  TROUPE_ASSIGN_OR_RETURN(nodes.features, open_features(source));
  if (source.has("y.npy")) {
    TROUPE_ASSIGN_OR_RETURN(auto table, Table::open(source, {"y.npy"}, TableFormat::npy));
    TROUPE_ASSIGN_OR_RETURN(nodes.labels,
                            source.meta.numbers
                                ? numbers_of(std::move(table))
                                : labels_of(std::move(table), source.meta.num_classes, executor));
  }
  TROUPE_RETURN_IF_ERROR(settle_count(nodes, "meta.json (num_nodes)"));
  TROUPE_ASSIGN_OR_RETURN(auto found, open_edges(source, nodes.count));
  nodes.count = found.nodes;
  TROUPE_ASSIGN_OR_RETURN(auto seeds, read_seeds(source, found.nodes));
  for (auto& [name, ids] : seeds) {
    graph.seeds[name] = {0, std::move(ids)};
  }
  TROUPE_ASSIGN_OR_RETURN(graph.links, open_links(source, found.nodes));
  auto& edges = graph.edges.emplace_back();
  edges.name = source.meta.edge_type;
  edges.transforms = options.edges;
  edges.rows = std::move(found.rows);
  return graph;
}

}  // namespace

Result<GraphInfo> import_npy(const std::filesystem::path& source, const std::filesystem::path& out,
                             const ImportOptions& options, Executor& executor) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(source, ignored)) {
    return import_npy_graph(source, out, options, executor);
  }
  if (!std::filesystem::is_directory(source, ignored)) {
    return Error(Errc::not_found,
                 fmt::format("{}: expected a directory of .npy files, or a JSON file that names "
                             "arrays, found neither",
                             source.string()));
  }
  return graph_source::import_graph(
      {source, out}, options, executor, [&]() -> Result<graph_source::Graph> {
        TROUPE_ASSIGN_OR_RETURN(auto meta, read_meta(source));
        return open_directory({source, std::move(meta)}, options, executor);
      });
}

Result<GraphInfo> import_npy(const std::filesystem::path& source,
                             const std::filesystem::path& out) {
  InlineExecutor executor;
  return import_npy(source, out, {}, executor);
}

}  // namespace troupe
