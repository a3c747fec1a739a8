#pragma once
/// \file list_index.hpp
/// Which lists of a node are not empty, where a graph has many edge types: made when a part is loaded, so
/// that sampling does not look at every list of every node.
#include "runtime/base/result.hpp"
#include "runtime/graph/part.hpp"

#include <cstdint>
#include <memory>

namespace troupe {

/// Edge types that end at a node type, from which on an index is worth its while.
inline constexpr std::size_t many_edge_types = 16;
/// An index lists at most one in so many of the lists that there are.
inline constexpr std::uint64_t looks_saved = 4;

/// Bytes of an index, at most.
/// \param nodes  of a node type  \param lists  of these nodes, along all edge types
constexpr std::uint64_t list_index_bytes(std::uint64_t nodes, std::uint64_t lists,
                                         std::uint64_t edges) noexcept {
  const auto listed = lists / looks_saved < edges ? lists / looks_saved : edges;
  return (nodes + 1) * sizeof(std::uint64_t) + listed * sizeof(IndexedList);
}

/// The part with an index of the lists of its own nodes in one direction, for node types that at least
/// `many_edge_types` edge types with lists end at and of whose lists at most one in `looks_saved` has an
/// entry; itself where no type is like that, or one of an edge type's lists begins behind 2^32 entries.
/// \errors out_of_memory
/// \cost   two passes over the offsets of these edge types; bytes as list_index_bytes()
Result<std::shared_ptr<const Part>> with_list_index(std::shared_ptr<const Part> part, EdgeDir dir);

}  // namespace troupe
