#include "runtime/partition/partition_writer.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/staged_directory.hpp"
#include "runtime/data/npy_stream.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/part_writer.hpp"

#include <optional>
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

/// Writes every role's seeds as [n, 2] (original, global).
Result<std::vector<FileInfo>> write_seeds(const GraphStore& graph, const Relabelling& relabelling,
                                          const std::filesystem::path& dir) {
  std::vector<FileInfo> files;
  for (const auto& split : graph.info().splits) {
    for (const auto& role : split.roles) {
      TROUPE_ASSIGN_OR_RETURN(const auto seeds, graph.seeds(split.name, role.first));
      const auto& global_of = relabelling.global_of[raw(seeds.node_type)];
      std::vector<std::uint64_t> pairs;
      for (const auto id : seeds.original) {
        pairs.push_back(raw(id));
        pairs.push_back(global_of[raw(id)]);
      }
      const auto path = store_layout::seeds_file(split.name, role.first);
      TROUPE_RETURN_IF_ERROR(make_folders((dir / path).parent_path()));
      TROUPE_ASSIGN_OR_RETURN(auto stream, NpyStream::create(dir / path, npy_type(DType::u64),
                                                             {seeds.original.size(), 2}));
      TROUPE_RETURN_IF_ERROR(stream.write_elements<std::uint64_t>(pairs));
      TROUPE_RETURN_IF_ERROR(stream.close());
      files.push_back(stream.info(path));
    }
  }
  return files;
}

}  // namespace

Result<PartitionInfo> write_partitioned_store(
    const GraphStore& graph, const Relabelling& relabelling, const PartitionInfo& partition,
    const PartitionWriteOptions& options, const std::filesystem::path& out, Executor& executor) {
  TROUPE_ASSIGN_OR_RETURN(auto staged, StagedDirectory::create(out));
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
  TROUPE_RETURN_IF_ERROR(add_parts(std::move(parts), graph.info(), written));
  auto info = graph.info();
  TROUPE_ASSIGN_OR_RETURN(info.files, write_seeds(graph, relabelling, dir));
  TROUPE_RETURN_IF_ERROR(write_new_text_file(dir / store_layout::graph_file, graph_to_json(info)));
  TROUPE_RETURN_IF_ERROR(
      write_new_text_file(dir / store_layout::partition_file, partition_to_json(written, info)));
  TROUPE_RETURN_IF_ERROR(staged.commit(Flush::no));
  return written;
}

}  // namespace troupe
