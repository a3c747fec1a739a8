#include "runtime/partition/partition_writer.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/staged_directory.hpp"
#include "runtime/data/triple_names.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/end_writer.hpp"
#include "runtime/partition/part_arrays.hpp"
#include "runtime/partition/part_writer.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace troupe {
namespace {

Result<KeptLists> kept_lists(const GraphStore& graph, CompleteFor complete_for,
                             const std::filesystem::path& scratch, std::uint64_t memory_bytes,
                             Executor& executor) {
  KeptLists lists;
  for (std::size_t e = 0; e < graph.info().edge_types.size(); ++e) {
    const auto type = static_cast<EdgeTypeId>(e);
    if (complete_for != CompleteFor::out) {
      lists.in.push_back(whole_in_lists(graph, type));
    }
    if (complete_for != CompleteFor::in) {
      TROUPE_ASSIGN_OR_RETURN(auto out,
                              whole_out_lists(graph, type, scratch, memory_bytes, executor));
      lists.out.push_back(std::move(out));
    }
  }
  return lists;
}

/// Adds what was written of all parts, in their order.
Status add_parts(std::vector<std::optional<Result<WrittenPart>>> parts, const GraphInfo& info,
                 PartitionInfo& partition) {
  partition.edges.assign(info.edge_types.size(), {});
  partition.halo_nodes.assign(info.node_types.size(), {});
  for (auto& part : parts) {
    TROUPE_ASSIGN_OR_RETURN(const auto written, *std::move(part));
    for (std::size_t type = 0; type < info.edge_types.size(); ++type) {
      partition.edges[type].push_back(written.edges[type]);
    }
    for (std::size_t type = 0; type < info.node_types.size(); ++type) {
      partition.halo_nodes[type].push_back(written.halo_nodes[type]);
    }
    partition.files.insert(partition.files.end(), written.files.begin(), written.files.end());
  }
  return ok_status();
}

/// Writes the seeds and links of all splits with global ids beside the original ones, block by
/// block.
class SplitWriter {
 public:
  SplitWriter(const GraphStore& graph, const Relabelling& relabelling,
              const std::filesystem::path& dir)
      : graph_(graph), relabelling_(relabelling), arrays_(dir) {}

  Result<std::vector<FileInfo>> write() {
    for (const auto& split : graph_.info().splits) {
      for (const auto& role : split.roles) {
        TROUPE_RETURN_IF_ERROR(write_seeds(split.name, role.first));
      }
      for (const auto& role : split.links) {
        TROUPE_RETURN_IF_ERROR(write_links(split.name, role.first));
      }
    }
    return arrays_.files();
  }

 private:
  /// As [n, 2]: original, global.
  Status write_seeds(const std::string& split, const std::string& role) {
    TROUPE_ASSIGN_OR_RETURN(const auto seeds, graph_.seeds(split, role));
    const auto& global_of = relabelling_.global_of[raw(seeds.node_type)];
    const auto path = store_layout::seeds_file(split, role);
    TROUPE_ASSIGN_OR_RETURN(auto column,
                            arrays_.open<std::uint64_t>(path, {seeds.original.size(), 2}));
    for (const auto id : seeds.original) {
      TROUPE_RETURN_IF_ERROR(column.push(raw(id)));
      TROUPE_RETURN_IF_ERROR(column.push(global_of[raw(id)]));
    }
    TROUPE_RETURN_IF_ERROR(arrays_.close(column, path));
    return write_values<std::int64_t>(store_layout::split_file(split, role, "times"), seeds.times,
                                      graph_.info().find_split(split)->roles.at(role).has_times);
  }

  /// As [n, 4]: original source and destination, global source and destination.
  Status write_links(const std::string& split, const std::string& role) {
    const auto& info = graph_.info();
    const auto& stated = info.find_split(split)->links.at(role);
    TROUPE_ASSIGN_OR_RETURN(const auto links, graph_.links(split, role));
    const auto path = store_layout::split_file(split, role, "links");
    TROUPE_ASSIGN_OR_RETURN(auto column, arrays_.open<std::uint64_t>(path, {links.size(), 4}));
    for (std::uint64_t i = 0; i < links.size(); ++i) {
      const auto link = links.at(i);
      const auto edge_type = stated.edge_types.empty()
                                 ? links.edge_type()
                                 : stated.edge_types[static_cast<std::size_t>(links.labels()[i])];
      const auto& type = info.edge_types[raw(edge_type)];
      const auto& sources = relabelling_.global_of[raw(type.source)];
      const auto& destinations = relabelling_.global_of[raw(type.destination)];
      const std::array<std::uint64_t, 4> row{
          raw(link.original_source), raw(link.original_destination),
          sources[raw(link.original_source)], destinations[raw(link.original_destination)]};
      TROUPE_RETURN_IF_ERROR(column.push(row));
    }
    TROUPE_RETURN_IF_ERROR(arrays_.close(column, path));
    TROUPE_RETURN_IF_ERROR(write_values<std::int64_t>(
        store_layout::split_file(split, role, "links.times"), links.times(), stated.has_times));
    return write_values<float>(store_layout::split_file(split, role, "links.labels"),
                               links.labels(), stated.has_labels);
  }

  /// One value per seed or link, where there are such.
  template <class T>
  Status write_values(const std::string& path, std::span<const T> values, bool present) {
    if (!present) {
      return ok_status();
    }
    TROUPE_ASSIGN_OR_RETURN(auto column, arrays_.open<T>(path, {values.size()}));
    TROUPE_RETURN_IF_ERROR(column.push(values));
    return arrays_.close(column, path);
  }

  const GraphStore& graph_;
  const Relabelling& relabelling_;
  PartArrays arrays_;
};

/// Copies names of the graph's entities and relations, which do not depend on the parts.
Status copy_names(const GraphStore& graph, const std::filesystem::path& dir, GraphInfo& info) {
  for (const auto& file : names_files(graph.info())) {
    TROUPE_RETURN_IF_ERROR(make_folders(parent_directory(dir / file.path)));
    std::error_code error;
    std::filesystem::copy_file(graph.dir() / file.path, dir / file.path, error);
    if (error) {
      return file_error(graph.dir() / file.path, "cannot copy", error.value());
    }
    info.files.push_back(file);
  }
  return ok_status();
}

}  // namespace

Result<PartitionInfo> write_partitioned_store(const GraphStore& graph,
                                              const Relabelling& relabelling,
                                              const PartitionInfo& partition,
                                              const PartitionWriteOptions& options,
                                              StagedDirectory staged, Executor& executor) {
  const auto& dir = staged.path();
  TROUPE_ASSIGN_OR_RETURN(const auto lists, kept_lists(graph, partition.complete_for, dir,
                                                       options.memory_bytes, executor));
  const PartSource source{graph, relabelling, lists, options.halo, partition.features_later, dir};
  std::vector<std::optional<Result<WrittenPart>>> parts(partition.parts);
  executor.parallel_for(partition.parts, [&](std::size_t part) {
    parts[part].emplace(write_part(source, static_cast<PartId>(part)));
  });
  auto written = partition;
  written.ranges = relabelling.ranges;
  written.halo_hops = options.halo.hops;
  written.halo_features = options.halo.features;
  written.directory = true;
  TROUPE_RETURN_IF_ERROR(add_parts(std::move(parts), graph.info(), written));
  TROUPE_RETURN_IF_ERROR(write_ends(graph, dir, written));
  auto info = graph.info();
  TROUPE_ASSIGN_OR_RETURN(info.files, SplitWriter(graph, relabelling, dir).write());
  TROUPE_RETURN_IF_ERROR(copy_names(graph, dir, info));
  TROUPE_RETURN_IF_ERROR(write_new_text_file(dir / store_layout::graph_file, graph_to_json(info)));
  TROUPE_RETURN_IF_ERROR(
      write_new_text_file(dir / store_layout::partition_file, partition_to_json(written, info)));
  TROUPE_RETURN_IF_ERROR(staged.commit(Flush::no));
  return written;
}

}  // namespace troupe
