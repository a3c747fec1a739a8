#include "runtime/graph/store.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/id_list.hpp"
#include "runtime/graph/directory.hpp"
#include "runtime/graph/end_loader.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/part_loader.hpp"
#include "runtime/graph/split_loader.hpp"
#include "runtime/graph/store_files.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace troupe {
namespace {

using store_layout::graph_file;
using store_layout::largest_json;
using store_layout::partition_file;

/// Those of one part alone: a store of many parts lists so many files that a copy of all of them for
/// each part would take minutes.
std::vector<FileInfo> files_of_part(const PartitionInfo& partition, PartId part) {
  const auto prefix = store_layout::part_prefix(part);
  std::vector<FileInfo> files;
  std::ranges::copy_if(partition.files, std::back_inserter(files),
                       [&](const FileInfo& file) { return file.path.starts_with(prefix); });
  return files;
}

}  // namespace

Result<GraphInfo> read_graph_info(const std::filesystem::path& dir) {
  const auto path = dir / graph_file;
  auto text = read_text_file(path, largest_json);
  if (!text.ok() && text.error().code() == Errc::not_found) {
    return Error(Errc::not_found, fmt::format("{}: expected a store, found no graph.json there\n"
                                              "try: troupe import",
                                              dir.string()));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto json, std::move(text));
  return graph_from_json(json, path.string());
}

Result<std::string> graph_checksum(const std::filesystem::path& dir) {
  TROUPE_ASSIGN_OR_RETURN(const auto text, read_text_file(dir / graph_file, largest_json));
  return to_string(digest_of(std::as_bytes(std::span(text))));
}

StoreKind store_kind(const std::filesystem::path& dir) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(dir / graph_file, ignored)) {
    return StoreKind::none;
  }
  return std::filesystem::is_regular_file(dir / partition_file, ignored) ? StoreKind::partitioned
                                                                         : StoreKind::graph;
}

Result<GraphStore> GraphStore::open(const std::filesystem::path& dir, const StoreOptions& options) {
  if (store_kind(dir) == StoreKind::partitioned) {
    return Error(
        Errc::failed_precondition,
        fmt::format("{}: expected a whole graph, found a partitioned store", dir.string()));
  }
  GraphStore store;
  store.dir_ = dir;
  store.options_ = options;
  TROUPE_ASSIGN_OR_RETURN(store.info_, read_graph_info(dir));
  const StoreFiles files(dir, options, store.info_.files, graph_file);
  const PartRequest request{files, store.info_};
  TROUPE_ASSIGN_OR_RETURN(store.graph_, load_part_arrays(request));
  for (const auto& split : store.info_.splits) {
    for (const auto& role : split.roles) {
      TROUPE_RETURN_IF_ERROR(load_seeds(files, store.info_, false, {split.name, role.first}));
    }
    for (const auto& role : split.links) {
      TROUPE_RETURN_IF_ERROR(load_links(files, store.info_, false, {split.name, role.first}));
    }
  }
  return store;
}

Result<SeedList> GraphStore::seeds(std::string_view split, std::string_view role) const {
  return load_seeds(StoreFiles(dir_, options_, info_.files, graph_file), info_, false,
                    {split, role});
}

Result<LinkList> GraphStore::links(std::string_view split, std::string_view role) const {
  return load_links(StoreFiles(dir_, options_, info_.files, graph_file), info_, false,
                    {split, role});
}

Result<PartitionedStore> PartitionedStore::open(const std::filesystem::path& dir,
                                                const StoreOptions& options) {
  if (store_kind(dir) == StoreKind::graph) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: expected a partitioned store, found one that is not partitioned\n"
                             "try: troupe partition",
                             dir.string()));
  }
  PartitionedStore store;
  store.dir_ = dir;
  store.options_ = options;
  TROUPE_ASSIGN_OR_RETURN(store.info_, read_graph_info(dir));
  const auto path = dir / partition_file;
  TROUPE_ASSIGN_OR_RETURN(const auto json, read_text_file(path, largest_json));
  TROUPE_ASSIGN_OR_RETURN(store.partition_, partition_from_json(json, store.info_, path.string()));
  return store;
}

Result<std::shared_ptr<const Part>> PartitionedStore::load_part(PartId part) const {
  return load(part, PartScope::all);
}

Result<std::shared_ptr<const Part>> PartitionedStore::load_without_features(PartId part) const {
  return load(part, PartScope::without_features);
}

Result<std::shared_ptr<const Part>> PartitionedStore::load_lists(PartId part) const {
  return load(part, PartScope::lists);
}

std::vector<std::string> PartitionedStore::feature_files(PartId part) const {
  std::vector<std::string> paths;
  const auto dir = partition_.complete_for == CompleteFor::out ? EdgeDir::out : EdgeDir::in;
  const auto prefix = store_layout::part_prefix(part);
  for (const auto& type : info_.edge_types) {
    if (type.features) {
      paths.push_back(prefix + store_layout::edges_file(type, dir, "features"));
    }
  }
  for (std::size_t t = 0; t < info_.node_types.size(); ++t) {
    const auto& type = info_.node_types[t];
    const auto left_out = std::ranges::find(left_out_, static_cast<NodeTypeId>(t));
    if (!type.features && left_out == left_out_.end()) {
      continue;
    }
    paths.push_back(prefix + store_layout::nodes_file(type, "features"));
    if (partition_.halo_features) {
      paths.push_back(prefix + store_layout::nodes_file(type, "halo_features"));
    }
  }
  return paths;
}

Result<std::vector<FileInfo>> PartitionedStore::added_files(PartId part) const {
  if (!partition_.features_later) {
    return std::vector<FileInfo>();
  }
  const auto manifest = store_layout::part_prefix(part) + std::string(store_layout::features_file);
  const auto name = (dir_ / manifest).string();
  auto text = read_text_file(dir_ / manifest, largest_json);
  if (!text.ok() && text.error().code() == Errc::not_found) {
    return std::vector<FileInfo>();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto json, std::move(text));
  TROUPE_ASSIGN_OR_RETURN(auto files, features_from_json(json, name));
  const auto expected = feature_files(part);
  const auto [wanted, found] = std::ranges::mismatch(expected, files, {}, {}, &FileInfo::path);
  if (wanted != expected.end() || found != files.end()) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected {} in \"files\", found {}", name,
                             wanted == expected.end() ? "no more" : *wanted,
                             found == files.end() ? "no more" : found->path));
  }
  files.push_back({manifest, json.size(), to_string(digest_of(std::as_bytes(std::span(json))))});
  return files;
}

Result<std::uint64_t> PartitionedStore::part_bytes(PartId part) const {
  TROUPE_ASSIGN_OR_RETURN(const auto added, added_files(part));
  std::uint64_t bytes = 0;
  for (const auto& file : added) {
    bytes += file.bytes;
  }
  const auto prefix = store_layout::part_prefix(part);
  for (const auto& file : partition_.files) {
    bytes += file.path.starts_with(prefix) ? file.bytes : 0;
  }
  return bytes;
}

Result<std::shared_ptr<const Part>> PartitionedStore::load(PartId part, PartScope scope) const {
  if (raw(part) >= partition_.parts) {
    return Error(Errc::invalid_argument, fmt::format("{}: expected a part below {}, got {}",
                                                     dir_.string(), partition_.parts, raw(part)));
  }
  auto listed = files_of_part(partition_, part);
  if (partition_.features_later && scope == PartScope::all && !feature_files(part).empty()) {
    TROUPE_ASSIGN_OR_RETURN(const auto added, added_files(part));
    if (added.empty()) {
      return Error(Errc::failed_precondition,
                   fmt::format("{}: expected the features of part {}, found that they are still to "
                               "be added\ntry: troupe add-features STORE {} --part {}",
                               dir_.string(), raw(part), dir_.string(), raw(part)));
    }
    listed.insert(listed.end(), added.begin(), added.end());
  }
  const StoreFiles files(dir_, options_, listed, partition_file);
  return load_part_arrays({files, info_, &partition_, part, scope});
}

Result<std::shared_ptr<const Part>> PartitionedStore::with_ends(const Part& part,
                                                                EdgeTypeId type) const {
  if (partition_.ends.empty()) {
    return Error(
        Errc::failed_precondition,
        fmt::format("{}: expected a store with the ends of edges, which negatives by degree "
                    "are drawn with, found one without\ntry: partition the graph again",
                    dir_.string()));
  }
  const StoreFiles files(dir_, options_, files_of_part(partition_, part.id), partition_file);
  return with_edge_ends(files, info_, partition_, part, type);
}

SplitInfo& split_to_change(GraphInfo& info, std::string_view name) {
  const auto found = std::ranges::find(info.splits, name, &SplitInfo::name);
  if (found != info.splits.end()) {
    return *found;
  }
  SplitInfo added;
  added.name = name;
  return info.splits.emplace_back(std::move(added));
}

void take_role(GraphInfo& info, std::string_view split, const std::string& role,
               std::string_view from) {
  const auto source = *info.find_split(from);
  auto& changed = split_to_change(info, split);
  if (const auto nodes = source.roles.find(role); nodes != source.roles.end()) {
    changed.roles[role] = nodes->second;
  }
  if (const auto links = source.links.find(role); links != source.links.end()) {
    changed.links[role] = links->second;
  }
}

void leave_out_features(GraphInfo& info, std::span<const NodeTypeId> types) {
  for (const NodeTypeId type : types) {
    info.node_types[raw(type)].features.reset();
    info.node_types[raw(type)].column_stats.reset();
  }
}

PartitionedStore PartitionedStore::without_features(std::span<const NodeTypeId> types) const {
  auto store = *this;
  std::ranges::copy_if(types, std::back_inserter(store.left_out_), [&](NodeTypeId type) {
    return store.info_.node_types[raw(type)].features.has_value();
  });
  leave_out_features(store.info_, types);
  return store;
}

PartitionedStore PartitionedStore::with_seeds(const std::string& split, const std::string& role,
                                              SeedList seeds) const {
  auto store = *this;
  split_to_change(store.info_, split).roles[role] = {seeds.node_type, seeds.original.size(),
                                                     !seeds.times.empty()};
  store.other_seeds_[{split, role}] = std::make_shared<const SeedList>(std::move(seeds));
  return store;
}

PartitionedStore PartitionedStore::with_links(const std::string& split, const std::string& role,
                                              LinkList links) const {
  SplitInfo::LinkRole counted{links.edge_type(), links.size(), !links.times().empty(),
                              !links.labels().empty()};
  for (const auto& group : links.groups()) {
    counted.edge_types.push_back(group.edge_type);
  }
  counted.relations = links.groups().size();
  counted.pairs_of = links.pairs_of();
  return with_links_made(split, role, std::move(counted),
                         [list = std::move(links)] { return list; });
}

PartitionedStore PartitionedStore::with_links_made(const std::string& split,
                                                   const std::string& role,
                                                   SplitInfo::LinkRole counted,
                                                   MakeLinks make) const {
  auto store = *this;
  split_to_change(store.info_, split).links[role] = std::move(counted);
  store.other_links_[{split, role}] = std::move(make);
  return store;
}

Result<PartitionedStore> PartitionedStore::with_role_of(const std::string& split,
                                                        const std::string& role,
                                                        const std::string& from) const {
  auto store = *this;
  const auto& source = *info_.find_split(from);
  if (source.roles.contains(role)) {
    TROUPE_ASSIGN_OR_RETURN(auto list, seeds(from, role));
    store.other_seeds_[{split, role}] = std::make_shared<const SeedList>(std::move(list));
  }
  if (source.links.contains(role)) {
    TROUPE_ASSIGN_OR_RETURN(auto list, links(from, role));
    store.other_links_[{split, role}] = [list = std::move(list)] { return list; };
  }
  take_role(store.info_, split, role, from);
  return store;
}

Result<NpyArray> PartitionedStore::load_directory(PartId part, NodeTypeId type) const {
  if (!partition_.directory) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: expected directories of nodes, found a store without them",
                             dir_.string()));
  }
  const auto& nodes = info_.node_types[raw(type)];
  const DirectorySlices slices{nodes.count, partition_.parts};
  const bool narrow = id_width_bytes(nodes.count) == 4;
  const auto path = store_layout::part_prefix(part) + store_layout::nodes_file(nodes, "directory");
  return StoreFiles(dir_, options_, files_of_part(partition_, part), partition_file)
      .load(path, {npy_type(narrow ? DType::u32 : DType::u64),
                   {slices.first(raw(part) + 1) - slices.first(raw(part))}});
}

Result<SeedList> PartitionedStore::seeds(std::string_view split, std::string_view role) const {
  const auto other = other_seeds_.find({std::string(split), std::string(role)});
  if (other != other_seeds_.end()) {
    return *other->second;
  }
  return load_seeds(StoreFiles(dir_, options_, info_.files, graph_file), info_, true,
                    {split, role});
}

Result<LinkList> PartitionedStore::links(std::string_view split, std::string_view role) const {
  const auto other = other_links_.find({std::string(split), std::string(role)});
  if (other != other_links_.end()) {
    return other->second();
  }
  return load_links(StoreFiles(dir_, options_, info_.files, graph_file), info_, true,
                    {split, role});
}

}  // namespace troupe
