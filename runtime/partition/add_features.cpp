#include "runtime/partition/add_features.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/staged_directory.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/part_arrays.hpp"
#include "runtime/partition/whole_lists.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace troupe {
namespace {

namespace fs = std::filesystem;

std::string text_without_files(GraphInfo info) {
  info.files.clear();
  return graph_to_json(info);
}

/// Whether `store` can have its features from the graph store at all.
Status check_source(const fs::path& graph_store, const PartitionedStore& store) {
  const auto& partition = store.partition();
  if (!partition.features_later) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: expected a store whose features come later (troupe partition "
                             "--features later), found one that has them",
                             store.dir().string()));
  }
  if (store.feature_files(PartId{0}).empty()) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: expected features to add, found a graph without any",
                             store.dir().string()));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto found, graph_checksum(graph_store));
  if (found != partition.graph_checksum) {
    return Error(
        Errc::failed_precondition,
        fmt::format("{}: expected the store that {} was made of, whose graph.json has the "
                    "checksum {}, found {}",
                    graph_store.string(), store.dir().string(), partition.graph_checksum, found));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto graph, read_graph_info(graph_store));
  if (text_without_files(graph) != text_without_files(store.info())) {
    return Error(
        Errc::data_corruption,
        fmt::format("{}: expected that of {} but for its files, found another",
                    (store.dir() / store_layout::graph_file).string(), graph_store.string()));
  }
  return ok_status();
}

/// Those asked for, each once, none of which has its features.
Result<std::vector<PartId>> parts_to_add(const PartitionedStore& store, std::vector<PartId> parts) {
  const bool all = parts.empty();
  for (std::uint32_t part = 0; all && part < store.partition().parts; ++part) {
    parts.push_back(static_cast<PartId>(part));
  }
  std::ranges::sort(parts);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  if (raw(parts.back()) >= store.partition().parts) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a part below {}, got {}", store.dir().string(),
                             store.partition().parts, raw(parts.back())));
  }
  for (const auto part : parts) {
    TROUPE_ASSIGN_OR_RETURN(const auto added, store.added_files(part));
    if (!added.empty()) {
      return Error(Errc::failed_precondition,
                   fmt::format("{}: expected part {} without features, found that it has them "
                               "already\ntry: --part with those that have none (troupe inspect)",
                               store.dir().string(), raw(part)));
    }
  }
  return parts;
}

/// The main lists of the edge types that have features; nothing in place of others.
Result<std::vector<WholeLists>> main_lists(const GraphStore& graph, const PartitionedStore& store,
                                           std::uint64_t memory_bytes, Executor& executor) {
  std::vector<WholeLists> lists(graph.info().edge_types.size());
  for (std::size_t e = 0; e < lists.size(); ++e) {
    const auto type = static_cast<EdgeTypeId>(e);
    if (!graph.info().edge_types[e].features) {
      continue;
    }
    if (store.partition().complete_for != CompleteFor::out) {
      lists[e] = whole_in_lists(graph, type);
      continue;
    }
    TROUPE_ASSIGN_OR_RETURN(lists[e],
                            whole_out_lists(graph, type, store.dir(), memory_bytes, executor));
  }
  return lists;
}

/// What all parts have in common.
struct FeatureSource {
  const GraphStore& graph;
  const PartitionedStore& store;
  const std::vector<WholeLists>& lists;
};

/// Writes the arrays of a part below `dir`, in the order of PartitionedStore::feature_files.
Result<std::vector<FileInfo>> write_arrays(const FeatureSource& source, PartId part,
                                           const fs::path& dir) {
  TROUPE_ASSIGN_OR_RETURN(const auto loaded, source.store.load_without_features(part));
  const auto& whole = *source.graph.graph();
  const auto out = source.store.partition().complete_for == CompleteFor::out;
  const auto paths = source.store.feature_files(part);
  auto path = paths.begin();
  PartArrays arrays(dir);
  for (std::size_t e = 0; e < whole.edges.size(); ++e) {
    const auto& info = source.graph.info().edge_types[e];
    const auto& owned = loaded->nodes_of(out ? info.source : info.destination);
    if (info.features) {
      TROUPE_RETURN_IF_ERROR(arrays.write_edge_rows(*path++, *whole.edges[e].features,
                                                    source.lists[e], owned.original_ids));
    }
  }
  for (std::size_t t = 0; t < whole.nodes.size(); ++t) {
    const auto& table = whole.nodes[t].features;
    const auto& nodes = loaded->nodes[t];
    if (table) {
      TROUPE_RETURN_IF_ERROR(arrays.write_rows(*path++, *table, nodes.original_ids));
    }
    if (table && source.store.partition().halo_features) {
      TROUPE_RETURN_IF_ERROR(arrays.write_rows(*path++, *table, nodes.halo_original_ids));
    }
  }
  return arrays.files();
}

/// Arrays are written aside and moved to their places, over what a killed process has left there;
/// then they are listed.
Result<std::vector<FileInfo>> add_part(const FeatureSource& source, PartId part) {
  const auto& dir = source.store.dir();
  const auto folder = dir / store_layout::part_prefix(part);
  TROUPE_ASSIGN_OR_RETURN(const auto staged, StagedDirectory::create(folder / "features"));
  TROUPE_ASSIGN_OR_RETURN(auto files, write_arrays(source, part, staged.path()));
  for (const auto& file : files) {
    std::error_code error;
    fs::rename(staged.path() / file.path, dir / file.path, error);
    if (error) {
      return file_error(dir / file.path, "cannot move the finished array there", error.value());
    }
  }
  const auto manifest = features_to_json(files);
  TROUPE_RETURN_IF_ERROR(write_file_atomically(folder / store_layout::features_file,
                                               std::as_bytes(std::span(manifest))));
  return files;
}

}  // namespace

Result<AddedFeatures> add_features(const fs::path& graph_store, const fs::path& out,
                                   const AddFeaturesOptions& options, Executor& executor) {
  TROUPE_ASSIGN_OR_RETURN(const auto store, PartitionedStore::open(out, {}));
  TROUPE_RETURN_IF_ERROR(check_source(graph_store, store));
  TROUPE_ASSIGN_OR_RETURN(const auto parts, parts_to_add(store, options.parts));
  TROUPE_ASSIGN_OR_RETURN(const auto graph, GraphStore::open(graph_store, {}));
  TROUPE_ASSIGN_OR_RETURN(const auto lists,
                          main_lists(graph, store, options.memory_bytes, executor));
  const FeatureSource source{graph, store, lists};
  std::vector<std::optional<Result<std::vector<FileInfo>>>> results(parts.size());
  executor.parallel_for(parts.size(),
                        [&](std::size_t i) { results[i].emplace(add_part(source, parts[i])); });
  AddedFeatures added{.parts = parts.size()};
  for (auto& result : results) {
    TROUPE_ASSIGN_OR_RETURN(const auto files, *std::move(result));
    added.files += files.size();
    for (const auto& file : files) {
      added.bytes += file.bytes;
    }
  }
  return added;
}

}  // namespace troupe
