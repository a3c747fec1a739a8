#include "runtime/data/npy_source.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe::npy_source {
namespace {

std::uint64_t end_of(const std::vector<std::uint64_t>& ids) {
  return ids.empty() ? 0 : *std::ranges::max_element(ids) + 1;
}

Result<Edges> read_edge_index(const Source& source, std::optional<std::uint64_t> known_nodes) {
  const std::string file = "edge_index.npy";
  const auto end = known_nodes.value_or(store_layout::largest_count);
  TROUPE_ASSIGN_OR_RETURN(const auto array, source.read(file));
  if (array.shape.size() != 2 || array.shape[0] != 2) {
    return bad_input(file,
                     fmt::format("expected shape [2, edges], got {}", shape_text(array.shape)));
  }
  Edges edges;
  const auto count = array.shape[1];
  TROUPE_ASSIGN_OR_RETURN(edges.sources,
                          read_ids(array, {file, "a source's node id", 0, count, end}));
  TROUPE_ASSIGN_OR_RETURN(edges.destinations,
                          read_ids(array, {file, "a destination's node id", count, count, end}));
  edges.least_nodes = std::max(end_of(edges.sources), end_of(edges.destinations));
  // Almost all nodes would be isolated: rather a damaged file than a graph
  if (!known_nodes && edges.least_nodes > 64 * count + (std::uint64_t{1} << 20)) {
    return bad_input(file, fmt::format("expected ids near the number of edges, {}, got {}\n"
                                       "try: state num_nodes in meta.json",
                                       count, edges.least_nodes - 1));
  }
  return edges;
}

Result<std::vector<std::uint64_t>> read_indices(const Source& source, std::uint64_t end) {
  TROUPE_ASSIGN_OR_RETURN(const auto files, list_files(source.dir, "indices"));
  if (files.empty()) {
    return Error(
        Errc::not_found,
        fmt::format("{}: expected indices.npy beside indptr.npy, found none", source.dir.string()));
  }
  std::vector<std::uint64_t> indices;
  for (const auto& file : files) {
    TROUPE_ASSIGN_OR_RETURN(const auto array, source.read(file));
    if (array.shape.size() != 1) {
      return bad_input(file,
                       fmt::format("expected shape [edges], got {}", shape_text(array.shape)));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto ids,
                            read_ids(array, {file, "a source's node id", 0, array.shape[0], end}));
    indices.insert(indices.end(), ids.begin(), ids.end());
  }
  return indices;
}

/// Reads row pointers: ascending from 0.
Result<std::vector<std::uint64_t>> read_offsets(const Source& source, const std::string& file) {
  TROUPE_ASSIGN_OR_RETURN(const auto array, source.read(file));
  if (array.shape.size() != 1 || array.shape[0] == 0) {
    return bad_input(file,
                     fmt::format("expected shape [rows + 1], got {}", shape_text(array.shape)));
  }
  TROUPE_ASSIGN_OR_RETURN(auto offsets, read_ids(array, {file, "an offset", 0, array.shape[0],
                                                         store_layout::largest_count}));
  if (offsets.front() != 0) {
    return bad_input(file, fmt::format("row 0: expected 0, got {}", offsets.front()));
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) {
      return bad_input(file, fmt::format("row {}: expected at least {}, as the row before, got {}",
                                         i, offsets[i - 1], offsets[i]));
    }
  }
  return offsets;
}

Result<Edges> read_csr(const Source& source, std::optional<std::uint64_t> known_nodes) {
  const std::string file = "indptr.npy";
  TROUPE_ASSIGN_OR_RETURN(const auto offsets, read_offsets(source, file));
  const auto nodes = offsets.size() - 1;
  if (known_nodes && *known_nodes != nodes) {
    return bad_input(file, fmt::format("expected {} rows for {} nodes, got {}", *known_nodes + 1,
                                       *known_nodes, offsets.size()));
  }
  Edges edges;
  edges.least_nodes = nodes;
  TROUPE_ASSIGN_OR_RETURN(edges.sources, read_indices(source, nodes));
  if (offsets.back() != edges.sources.size()) {
    return bad_input(file, fmt::format("row {}: expected {}, the number of indices, got {}", nodes,
                                       edges.sources.size(), offsets.back()));
  }
  edges.destinations.resize(edges.sources.size());
  for (std::uint64_t node = 0; node < nodes; ++node) {
    std::fill(edges.destinations.begin() + static_cast<std::ptrdiff_t>(offsets[node]),
              edges.destinations.begin() + static_cast<std::ptrdiff_t>(offsets[node + 1]), node);
  }
  return edges;
}

}  // namespace

Result<Edges> read_edges(const Source& source, std::optional<std::uint64_t> known_nodes) {
  const bool has_list = source.has("edge_index.npy");
  const bool has_csr = source.has("indptr.npy");
  if (has_list && has_csr) {
    return bad_input("edge_index.npy", "expected edge_index.npy or indptr.npy, found both");
  }
  if (has_csr) {
    return read_csr(source, known_nodes);
  }
  if (!has_list) {
    return Error(
        Errc::not_found,
        fmt::format("{}: expected edge_index.npy, or indptr.npy and indices.npy, found neither",
                    source.dir.string()));
  }
  return read_edge_index(source, known_nodes);
}

}  // namespace troupe::npy_source
