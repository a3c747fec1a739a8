#pragma once
/// \file edge_lists.hpp
/// The edges of one type on their way from the user's order into in-neighbour lists on disk. Used by
/// stream_store.cpp only.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/stream_store.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::stream_store {

struct EdgeListsOptions {
  bool weights = false;
  bool times = false;  ///< the lists are in order of time; not with dedup
  bool symmetrize = false;
  bool dedup = false;
  bool drop_self_loops = false;
  bool reversed = false;  ///< only the reverse of every edge
  bool compact = true;    ///< all node ids fit 32 bits
  std::filesystem::path scratch;
  std::uint64_t memory_bytes = 0;
};

/// Edges first_id, first_id + 1, …
struct EdgeBlock {
  EdgePiece edges;
  std::uint64_t first_id = 0;
  std::span<const std::uint8_t> roles = {};  ///< Only edges of role 0 are taken; empty: all
};

/// Where the lists go, and what is known only once all edges were given.
struct ListTarget {
  std::filesystem::path dir;                          ///< of the store
  std::function<std::string(std::string_view)> path;  ///< in it, of "offsets", "neighbours", …
  std::uint64_t neighbour_count = 0;                  ///< nodes of the type that the lists name
  std::uint64_t owner_count = 0;                      ///< nodes that have lists
  std::uint64_t first_reversed_id = 0;                ///< id of edge 0's reverse
  std::function<void(std::uint64_t)> on_written;      ///< edges so far
};

struct WrittenLists {
  std::uint64_t edges = 0;
  std::vector<FileInfo> files;
};

/// Lifecycle: add() any number of times, then write() once
/// Threads:   one at a time; both use the executor's
class EdgeLists {
 public:
  virtual ~EdgeLists() = default;
  /// \requires ids below the counts; below 2^32 if compact
  virtual Status add(const EdgeBlock& block) = 0;
  /// Edges that the lists will have; more than that with dedup.
  virtual std::uint64_t size() const = 0;
  virtual Result<WrittenLists> write(const ListTarget& target) = 0;
};
std::unique_ptr<EdgeLists> make_edge_lists(const EdgeListsOptions& options, Executor& executor);

}  // namespace troupe::stream_store
