#include "runtime/partition/partitioner.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/staged_directory.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/assign_file.hpp"
#include "runtime/partition/methods.hpp"
#include "runtime/partition/partition_writer.hpp"
#include "runtime/partition/relabel.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

AssignOptions assign_options(const PartitionOptions& options) {
  return {options.method,   options.parts, options.seed, options.more, {},
          options.on_stage, options.own};
}

Result<NodeHeat> heat_of(const GraphStore& graph, const PartitionOptions& options,
                         Executor& executor) {
  if (options.order == NodeOrder::degree) {
    return in_degrees(graph.info(), *graph.graph());
  }
  NodeHeat heat;
  if (options.order == NodeOrder::original) {
    for (const auto& type : graph.info().node_types) {
      heat.emplace_back(type.count, 0);
    }
    return heat;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto hotness,
                          node_hotness(graph, options.more.split, options.more.hotness, executor));
  for (const auto& of_type : hotness) {
    heat.emplace_back(of_type.begin(), of_type.end());
  }
  return heat;
}

PartHeat profile(const Relabelling& relabelling, const NodeHeat& heat,
                 const PartitionOptions& options) {
  PartHeat result;
  if (options.order == NodeOrder::original || options.parts > store_layout::most_heated) {
    return result;
  }
  for (std::size_t type = 0; type < heat.size(); ++type) {
    auto& of_type = result.mean.emplace_back();
    for (std::uint32_t part = 0; part < options.parts; ++part) {
      const auto nodes = relabelling.owned(type, static_cast<PartId>(part));
      auto& means = of_type.emplace_back();
      for (std::size_t bucket = 0; bucket < PartHeat::buckets; ++bucket) {
        const auto begin = PartHeat::bucket_begin(nodes.size(), bucket);
        const auto end = PartHeat::bucket_begin(nodes.size(), bucket + 1);
        double sum = 0;
        for (auto i = begin; i < end; ++i) {
          sum += heat[type][nodes[i]];
        }
        means.push_back(end > begin ? sum / static_cast<double>(end - begin) : 0.0);
      }
    }
  }
  return result;
}

/// Those of the method, and of hotness where it orders the nodes.
std::vector<std::pair<std::string, std::string>> all_options(const PartitionOptions& options) {
  auto shown = options_of(assign_options(options));
  if (options.order == NodeOrder::hotness) {
    add_hotness_options(options.more, shown);
    std::ranges::sort(shown);
    shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  }
  return shown;
}

void add_text(DigestBuilder& digest, const std::string& text) {
  digest.add_array(std::span<const char>(text));
}

}  // namespace

Result<std::string> partition_hash(const std::filesystem::path& graph_store,
                                   const PartitionOptions& options) {
  TROUPE_ASSIGN_OR_RETURN(const auto graph, read_text_file(graph_store / store_layout::graph_file,
                                                           store_layout::largest_json));
  DigestBuilder digest;
  digest.add(store_layout::format_version);
  add_text(digest, graph);
  add_text(digest, options.method);
  digest.add(options.parts);
  digest.add(options.seed);
  digest.add(static_cast<std::uint64_t>(options.complete_for));
  // Stores of older programs have the hash of "random" without its options.
  if (options.method != "random" || options.order == NodeOrder::hotness) {
    for (const auto& option : all_options(options)) {
      add_text(digest, option.first);
      add_text(digest, option.second);
    }
  }
  if (options.halo.hops != 0 || options.halo.features || options.order != NodeOrder::degree) {
    digest.add(options.halo.hops);
    digest.add(static_cast<std::uint64_t>(options.halo.features));
    digest.add(static_cast<std::uint64_t>(options.order));
  }
  if (options.features_later) {
    add_text(digest, "features later");
  }
  const auto* method = find_kind(partition_methods(), options.method);
  if (method != nullptr && reads_option(*method, "file")) {
    TROUPE_ASSIGN_OR_RETURN(const auto info, graph_from_json(graph, store_layout::graph_file));
    for (const auto& file : node_files(info, options.more.file)) {
      TROUPE_RETURN_IF_ERROR(for_each_block(file, [&](std::span<const std::byte> block) {
        digest.add_bytes(block);
        return ok_status();
      }));
    }
  }
  return to_string(digest.digest());
}

Result<PartitionInfo> partition_store(const GraphStore& graph, const PartitionOptions& options,
                                      const std::filesystem::path& out, Executor& executor) {
  // First: cutting may take hours, and all of them would be lost where `out` exists or cannot be made.
  TROUPE_ASSIGN_OR_RETURN(auto staged, StagedDirectory::create(out));
  auto how = assign_options(options);
  how.view.memory_bytes = options.memory_bytes;
  how.view.scratch = staged.path();
  TROUPE_ASSIGN_OR_RETURN(auto assigned, assign(graph, how, executor));
  PartitionInfo partition;
  partition.method = options.method;
  partition.parts = options.parts;
  partition.complete_for = options.complete_for;
  partition.options = all_options(options);
  partition.cut_edges = assigned.measures.cut_edges;
  partition.communication_volume = assigned.measures.communication_volume;
  partition.balance = std::move(assigned.measures.balance);
  TROUPE_ASSIGN_OR_RETURN(partition.options_hash, partition_hash(graph.dir(), options));
  partition.order = to_string(options.order);
  if (options.features_later) {
    partition.features_later = true;
    TROUPE_ASSIGN_OR_RETURN(partition.graph_checksum, graph_checksum(graph.dir()));
  }
  begin_stage(options.on_stage, "order");
  TROUPE_ASSIGN_OR_RETURN(auto heat, heat_of(graph, options, executor));
  const auto relabelling = relabel(assigned.parts, heat, options.parts);
  partition.heat = profile(relabelling, heat, options);
  assigned.parts.clear();
  heat.clear();
  begin_stage(options.on_stage, "writing");
  return write_partitioned_store(graph, relabelling, partition,
                                 {.halo = options.halo, .memory_bytes = options.memory_bytes},
                                 std::move(staged), executor);
}

Result<PartitionInfo> partition_store(const GraphStore& graph, const PartitionOptions& options,
                                      const std::filesystem::path& out) {
  InlineExecutor executor;
  return partition_store(graph, options, out, executor);
}

}  // namespace troupe
