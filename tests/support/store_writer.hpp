#pragma once
/// \file store_writer.hpp
/// Whole graph stores from arrays in memory, for tests. The importers' writer is
/// runtime/data/stream_store.hpp; it writes the same bytes.
#include "runtime/base/buffer.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

/// Neighbour lists in memory.
struct ListArrays {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> neighbours;
  std::vector<std::uint64_t> edge_ids;
};

/// Edges in the user's order: edge i goes from sources[i] to destinations[i] and has the original
/// id i.
struct EdgeList {
  std::span<const std::uint64_t> sources;
  std::span<const std::uint64_t> destinations;
};

/// Builds in-lists: one per destination, in order of the sources' ids, parallel edges by edge id.
/// \requires every id is below its count
/// \cost two counting sorts: O(edges + nodes)
ListArrays build_in_lists(const EdgeList& edges, std::uint64_t source_count,
                          std::uint64_t destination_count);

/// A whole graph in memory. Counts, dtypes and flags are in `info`; its `files` are ignored.
struct GraphContents {
  struct Nodes {
    Segment features;  ///< [count, cols] of the type's dtype; ignored if the type has no features
    std::vector<std::int64_t> labels;
    std::vector<float> targets;
  };
  GraphInfo info;
  std::vector<Nodes> nodes;          ///< by node type
  std::vector<ListArrays> in_lists;  ///< by edge type
  std::map<std::pair<std::string, std::string>, std::vector<std::uint64_t>>
      seeds;  ///< (split, role); ascending
  std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> seed_times = {};
  struct Links {
    std::vector<std::uint64_t> ends;  ///< [links, 2]; in order
    std::vector<std::int64_t> times = {};
    std::vector<float> labels = {};
  };
  std::map<std::pair<std::string, std::string>, Links> links = {};  ///< (split, role)
};

/// Writes a graph store, atomically (not flushed: checksums find what a power cut tears), with
/// column statistics where they are missing. Returns its info with files.
/// \requires arrays fit the counts in `info`
/// \errors failed_precondition: `out` exists, or it cannot be written
Result<GraphInfo> write_graph_store(const GraphContents& contents,
                                    const std::filesystem::path& out);

}  // namespace troupe::testing
