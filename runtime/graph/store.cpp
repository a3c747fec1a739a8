#include "runtime/graph/store.hpp"

#include "runtime/base/files.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/part_loader.hpp"
#include "runtime/graph/store_files.hpp"
#include "runtime/graph/store_layout.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

using store_layout::graph_file;
using store_layout::largest_json;
using store_layout::partition_file;

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
  }
  return store;
}

Result<SeedList> GraphStore::seeds(std::string_view split, std::string_view role) const {
  return load_seeds(StoreFiles(dir_, options_, info_.files, graph_file), info_, false,
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
  return load(part, /*lists_only=*/false);
}

Result<std::shared_ptr<const Part>> PartitionedStore::load_lists(PartId part) const {
  return load(part, /*lists_only=*/true);
}

Result<std::shared_ptr<const Part>> PartitionedStore::load(PartId part, bool lists_only) const {
  if (raw(part) >= partition_.parts) {
    return Error(Errc::invalid_argument, fmt::format("{}: expected a part below {}, got {}",
                                                     dir_.string(), partition_.parts, raw(part)));
  }
  const StoreFiles files(dir_, options_, partition_.files, partition_file);
  return load_part_arrays({files, info_, &partition_, part, lists_only});
}

Result<SeedList> PartitionedStore::seeds(std::string_view split, std::string_view role) const {
  return load_seeds(StoreFiles(dir_, options_, info_.files, graph_file), info_, true,
                    {split, role});
}

}  // namespace troupe
