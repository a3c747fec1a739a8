#include "runtime/graph/end_loader.hpp"

#include "runtime/graph/array_checks.hpp"
#include "runtime/graph/directory.hpp"
#include "runtime/graph/store_layout.hpp"

#include <fmt/format.h>
#include <string>

namespace troupe {
namespace {

/// Places and numbers ascend; the last number is the slice's edges.
Status check_ends(std::span<const EdgeEnd> ends, std::uint64_t nodes, std::uint64_t edges,
                  const std::string& path) {
  EdgeEnd before;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const bool ascends =
        ends[i].edges_end > before.edges_end && (i == 0 || ends[i].place > before.place);
    if (!ascends || ends[i].place >= nodes) {
      return bad_element(path, i, fmt::format("ascending places below {} and numbers", nodes),
                         fmt::format("({}, {})", ends[i].place, ends[i].edges_end));
    }
    before = ends[i];
  }
  if (before.edges_end != edges) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected {} edges, found {}", path, edges, before.edges_end));
  }
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const Part>> with_edge_ends(const StoreFiles& files, const GraphInfo& info,
                                                   const PartitionInfo& partition, const Part& part,
                                                   EdgeTypeId type) {
  static_assert(sizeof(EdgeEnd) == 16);
  auto copy = std::make_shared<Part>(part);
  const auto& edge_type = info.edge_types[raw(type)];
  const auto at = raw(part.id);
  for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
    const bool in = dir == EdgeDir::in;
    const auto& stated = in ? partition.ends[raw(type)].in : partition.ends[raw(type)].out;
    const auto& nodes = info.node_types[raw(in ? edge_type.destination : edge_type.source)];
    const auto path =
        store_layout::part_prefix(part.id) + store_layout::edges_file(edge_type, dir, "ends");
    TROUPE_ASSIGN_OR_RETURN(const auto array,
                            files.load(path, {npy_type(DType::u64), {stated.nodes[at], 2}}));
    copy->bytes += array.data.bytes.size();
    if (array.data.owner != nullptr) {
      copy->owners.push_back(array.data.owner);
    }
    const std::span ends(reinterpret_cast<const EdgeEnd*>(array.data.bytes.data()),
                         stated.nodes[at]);
    const DirectorySlices slices{nodes.count, partition.parts};
    if (files.options().verify == Verify::full) {
      TROUPE_RETURN_IF_ERROR(
          check_ends(ends, slices.first(at + 1) - slices.first(at), stated.edges[at], path));
    }
    (in ? copy->edges[raw(type)].in_ends : copy->edges[raw(type)].out_ends) = ends;
  }
  return std::shared_ptr<const Part>(std::move(copy));
}

}  // namespace troupe
