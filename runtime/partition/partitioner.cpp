#include "runtime/partition/partitioner.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/assign_file.hpp"
#include "runtime/partition/partition_writer.hpp"
#include "runtime/partition/relabel.hpp"

#include <utility>

namespace troupe {
namespace {

AssignOptions assign_options(const PartitionOptions& options) {
  return {options.method, options.parts, options.seed, options.more};
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
  if (options.method != "random") {  // which has no more
    for (const auto& option : options_of(assign_options(options))) {
      add_text(digest, option.first);
      add_text(digest, option.second);
    }
  }
  if (options.method == "file") {
    TROUPE_ASSIGN_OR_RETURN(const auto info, graph_from_json(graph, store_layout::graph_file));
    for (const auto& file : assignment_files(info, options.more.file)) {
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
  const auto how = assign_options(options);
  TROUPE_ASSIGN_OR_RETURN(auto assigned, assign(graph, how, executor));
  PartitionInfo partition;
  partition.method = options.method;
  partition.parts = options.parts;
  partition.complete_for = options.complete_for;
  partition.options = options_of(how);
  partition.communication_volume = assigned.measures.communication_volume;
  partition.balance = std::move(assigned.measures.balance);
  TROUPE_ASSIGN_OR_RETURN(partition.options_hash, partition_hash(graph.dir(), options));
  const auto heat = in_degrees(graph.info(), *graph.graph());
  return write_partitioned_store(graph, relabel(assigned.parts, heat, options.parts), partition,
                                 out);
}

Result<PartitionInfo> partition_store(const GraphStore& graph, const PartitionOptions& options,
                                      const std::filesystem::path& out) {
  InlineExecutor executor;
  return partition_store(graph, options, out, executor);
}

}  // namespace troupe
