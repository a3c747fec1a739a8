#include "runtime/partition/end_writer.hpp"

#include "runtime/graph/directory.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/part_arrays.hpp"

#include <string>
#include <vector>

namespace troupe {
namespace {

/// By original id: edges that lead to a node, or from it.
std::vector<std::uint64_t> degrees(const GraphStore& graph, std::size_t type, EdgeDir dir) {
  const auto& info = graph.info().edge_types[type];
  const auto& lists = graph.graph()->edges[type].in;
  const auto end = raw(info.list_type(dir));
  std::vector<std::uint64_t> degrees(graph.info().node_types[end].count);
  if (dir == EdgeDir::in) {
    for (std::size_t node = 0; node < degrees.size(); ++node) {
      degrees[node] = lists.degree(node);
    }
  } else {
    lists.neighbours.visit([&](auto sources) {
      for (const auto source : sources) {
        ++degrees[source];
      }
    });
  }
  return degrees;
}

/// The slices of all parts.
Status write_slices(PartArrays& arrays, const EdgeTypeInfo& info, EdgeDir dir,
                    const std::vector<std::uint64_t>& degrees, std::uint32_t parts,
                    EndSlices& written) {
  const DirectorySlices slices{degrees.size(), parts};
  for (std::uint32_t part = 0; part < parts; ++part) {
    std::vector<EdgeEnd> ends;
    std::uint64_t edges = 0;
    for (auto node = slices.first(part); node < slices.first(part + 1); ++node) {
      if (degrees[node] > 0) {
        edges += degrees[node];
        ends.push_back({node - slices.first(part), edges});
      }
    }
    const auto path = store_layout::part_prefix(static_cast<PartId>(part)) +
                      store_layout::edges_file(info, dir, "ends");
    TROUPE_ASSIGN_OR_RETURN(auto column, arrays.open<std::uint64_t>(path, {ends.size(), 2}));
    for (const auto& end : ends) {
      TROUPE_RETURN_IF_ERROR(column.push(end.place));
      TROUPE_RETURN_IF_ERROR(column.push(end.edges_end));
    }
    TROUPE_RETURN_IF_ERROR(arrays.close(column, path));
    written.nodes.push_back(ends.size());
    written.edges.push_back(edges);
  }
  return ok_status();
}

}  // namespace

Status write_ends(const GraphStore& graph, const std::filesystem::path& dir,
                  PartitionInfo& partition) {
  PartArrays arrays(dir);
  for (std::size_t type = 0; type < graph.info().edge_types.size(); ++type) {
    const auto& info = graph.info().edge_types[type];
    auto& ends = partition.ends.emplace_back();
    TROUPE_RETURN_IF_ERROR(write_slices(
        arrays, info, EdgeDir::in, degrees(graph, type, EdgeDir::in), partition.parts, ends.in));
    TROUPE_RETURN_IF_ERROR(write_slices(
        arrays, info, EdgeDir::out, degrees(graph, type, EdgeDir::out), partition.parts, ends.out));
  }
  const auto& files = arrays.files();
  partition.files.insert(partition.files.end(), files.begin(), files.end());
  return ok_status();
}

}  // namespace troupe
