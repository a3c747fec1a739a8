#include "runtime/partition/partitioner.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/permutation.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/partition_writer.hpp"
#include "runtime/partition/relabel.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

Status check_method(const PartitionOptions& options) {
  if (options.method != "random") {
    return Error(
        Errc::unimplemented,
        fmt::format("partition method \"{}\": not built yet\ntry: \"random\"", options.method));
  }
  return ok_status();
}

void add_text(DigestBuilder& digest, const std::string& text) {
  digest.add_array(std::span<const char>(text));
}

}  // namespace

Result<Assignment> assign_random(const GraphInfo& graph, std::uint32_t parts, std::uint64_t seed) {
  std::uint64_t most = 0;
  for (const auto& type : graph.node_types) {
    most = std::max(most, type.count);
  }
  if (parts == 0 || parts > most) {
    return Error(
        Errc::invalid_argument,
        fmt::format("partition: expected 1 to {} parts (nodes of the largest type), got {}", most,
                    parts));
  }
  Assignment assignment;
  for (std::size_t type = 0; type < graph.node_types.size(); ++type) {
    const auto count = graph.node_types[type].count;
    const Permutation permutation(
        stream_key(seed, {.domain = Domain::generators, .type = static_cast<std::uint16_t>(type)}),
        count);
    std::vector<PartId> part_of(count);
    // part(i) = i * parts / count, without the product: the remainder is carried along
    std::uint64_t remainder = 0;
    std::uint64_t part = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      part_of[permutation(i)] = static_cast<PartId>(part);
      remainder += parts;
      part += remainder / count;
      remainder %= count;
    }
    assignment.push_back(std::move(part_of));
  }
  return assignment;
}

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
  return to_string(digest.digest());
}

Result<PartitionInfo> partition_store(const GraphStore& graph, const PartitionOptions& options,
                                      const std::filesystem::path& out) {
  TROUPE_RETURN_IF_ERROR(check_method(options));
  TROUPE_ASSIGN_OR_RETURN(const auto assignment,
                          assign_random(graph.info(), options.parts, options.seed));
  PartitionInfo partition;
  partition.method = options.method;
  partition.parts = options.parts;
  partition.complete_for = options.complete_for;
  TROUPE_ASSIGN_OR_RETURN(partition.options_hash, partition_hash(graph.dir(), options));
  const auto heat = in_degrees(graph.info(), *graph.graph());
  return write_partitioned_store(graph, relabel(assignment, heat, options.parts), partition, out);
}

}  // namespace troupe
