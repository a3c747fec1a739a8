#pragma once
/// \file store_writer.hpp
/// Writing stores: single arrays with their entries for the list of files, and whole graph stores
/// from memory. Partitioned stores are written by runtime/partition.
#include "runtime/base/buffer.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/npy.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Writes .npy files below a directory and remembers path, size and checksum of each.
/// Threads: one at a time
class ArrayWriter {
 public:
  explicit ArrayWriter(std::filesystem::path dir) : dir_(std::move(dir)) {}

  /// Writes `bytes` as an array.
  /// \param path  relative to the directory; missing folders are made
  /// \requires the bytes are an array of `type` and `shape`
  Status write(const std::string& path, NpyType type, std::span<const std::uint64_t> shape,
               std::span<const std::byte> bytes);
  /// A one-dimensional array.
  template <class T>
  Status write(const std::string& path, NpyType type, std::span<const T> values) {
    const std::uint64_t shape[] = {values.size()};
    return write(path, type, shape, std::as_bytes(values));
  }
  /// Global ids, 4 bytes each where all ids below `end` fit, else 8.
  Status write_ids(const std::string& path, std::span<const std::uint64_t> ids, std::uint64_t end);

  /// What was written, in order of writing.
  const std::vector<FileInfo>& files() const { return files_; }

 private:
  std::filesystem::path dir_;
  std::vector<FileInfo> files_;
};

/// Neighbour lists in memory, as `NeighbourLists` borrows them.
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

/// The same edges by source: one list per source in order of the destinations' ids, parallel edges
/// in the order that the given lists have them. Edge ids only if the given lists have them.
ListArrays reverse_lists(const ListArrays& lists, std::uint64_t other_count);

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
};

/// Writes a graph store, atomically (not flushed: checksums find what a power cut tears), with
/// column statistics where they are missing. Returns its info with files.
/// \requires arrays fit the counts in `info`
/// \errors failed_precondition: `out` exists, or it cannot be written
Result<GraphInfo> write_graph_store(const GraphContents& contents,
                                    const std::filesystem::path& out);

}  // namespace troupe
