#pragma once
/// \file whole_lists.hpp
/// The neighbour lists of a whole graph in either direction, as partition writers read them.
#include "runtime/base/buffer.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/id_list.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace troupe {

/// Lists of one edge type in one direction, by original ids.
struct WholeLists {
  std::span<const std::uint64_t> offsets;
  IdSpan neighbours;
  /// [edges] where each edge lies in the type's in-lists, and so in its further arrays; empty for
  /// in-lists, where it is the place itself.
  std::span<const std::uint64_t> places;
  std::vector<Segment> owners;

  std::uint64_t place(std::uint64_t i) const { return places.empty() ? i : places[i]; }
  std::uint64_t degree(std::uint64_t node) const { return offsets[node + 1] - offsets[node]; }
};

/// The in-lists as the graph has them.
WholeLists whole_in_lists(const GraphStore& graph, EdgeTypeId type);

/// One list per source, in order of the destinations' ids, parallel edges in the order of the
/// in-lists; with times in order of time first. Sorted outside memory; the result lies in scratch
/// files, which the system keeps in memory as it can.
/// \errors failed_precondition: no space in `scratch`; out_of_memory
Result<WholeLists> whole_out_lists(const GraphStore& graph, EdgeTypeId type,
                                   const std::filesystem::path& scratch, std::uint64_t memory_bytes,
                                   Executor& executor);

}  // namespace troupe
