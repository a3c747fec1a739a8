#include "runtime/data/npy_import.hpp"

#include "runtime/base/files.hpp"
#include "runtime/data/json_document.hpp"
#include "runtime/data/npy_graph.hpp"
#include "runtime/data/npy_source.hpp"
#include "runtime/data/table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>

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

/// Reports the arrays of a directory that are not taken.
Status report_others(const std::filesystem::path& dir, const std::set<std::string>& taken,
                     const ImportOptions& options) {
  TROUPE_ASSIGN_OR_RETURN(const auto files, list_files(dir, ""));
  for (const auto& file : files) {
    if (options.left_out && !taken.contains(file)) {
      options.left_out(file);
    }
  }
  return ok_status();
}

/// The document of a directory that has one.
std::optional<std::filesystem::path> document_in(const std::filesystem::path& source) {
  auto document = source / "arrays.json";
  return has_name(document) ? std::optional(std::move(document)) : std::nullopt;
}

/// Adds the files that a JSON value names, whatever their names end in.
void add_files(const nlohmann::json& value, const std::filesystem::path& folder,
               std::vector<std::filesystem::path>& files) {
  if (value.is_string()) {
    std::error_code ignored;
    auto file = folder / value.get<std::string>();
    if (std::filesystem::is_regular_file(file, ignored)) {
      files.push_back(std::move(file));
    }
  } else if (value.is_structured()) {
    for (const auto& part : value) {
      add_files(part, folder, files);
    }
  }
}

}  // namespace

Result<std::vector<std::filesystem::path>> files_of_npy(const std::filesystem::path& source) {
  std::vector<std::filesystem::path> files;
  if (const auto document = document_in(source)) {
    TROUPE_ASSIGN_OR_RETURN(const auto parsed, read_json_document(*document));
    files.push_back(*document);
    add_files(parsed, source, files);
  } else {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(source, error)) {
      const auto extension = entry.path().extension();
      if (entry.is_regular_file() && (extension == ".npy" || extension == ".json")) {
        files.push_back(entry.path());
      }
    }
    if (error) {
      return Error(Errc::not_found,
                   fmt::format("{}: expected a folder, {}", source.string(), error.message()));
    }
  }
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

Result<GraphInfo> import_npy(const std::filesystem::path& source, const std::filesystem::path& out,
                             const ImportOptions& options, Executor& executor) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(source, ignored)) {
    return import_npy_graph(source, out, options, executor);
  }
  if (const auto document = document_in(source)) {
    return import_npy_graph(*document, out, options, executor);
  }
  if (!std::filesystem::is_directory(source, ignored)) {
    return Error(Errc::not_found,
                 fmt::format("{}: expected a directory of .npy files, or a JSON file that names "
                             "arrays, found neither",
                             source.string()));
  }
  return graph_source::import_graph(
      {source, out}, options, executor, [&]() -> Result<graph_source::Graph> {
        std::set<std::string> taken;
        TROUPE_ASSIGN_OR_RETURN(auto meta, read_meta(source));
        TROUPE_ASSIGN_OR_RETURN(
            auto graph, open_directory({source, std::move(meta), &taken}, options, executor));
        TROUPE_RETURN_IF_ERROR(report_others(source, taken, options));
        return graph;
      });
}

Result<GraphInfo> import_npy(const std::filesystem::path& source,
                             const std::filesystem::path& out) {
  InlineExecutor executor;
  return import_npy(source, out, {}, executor);
}

}  // namespace troupe
