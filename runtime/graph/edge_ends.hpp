#pragma once
/// \file edge_ends.hpp
/// Edges of a type numbered by the original ids of the nodes at one of their ends, so that a random number
/// draws a node as likely as its degree. Cut over the parts as the directory of the nodes' type is.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// A node of a slice that has edges.
struct EdgeEnd {
  std::uint64_t place = 0;      ///< In the slice: original id less the slice's first
  std::uint64_t edges_end = 0;  ///< Edges of the slice's nodes up to and with it
  friend bool operator==(const EdgeEnd&, const EdgeEnd&) = default;
};

/// The place in its slice of the node whose edges a number is among; nothing where it is past all.
/// \param ends  ascending
inline std::optional<std::uint64_t> place_of_edge(std::span<const EdgeEnd> ends,
                                                  std::uint64_t number) {
  const auto found = std::ranges::upper_bound(ends, number, {}, &EdgeEnd::edges_end);
  return found == ends.end() ? std::nullopt : std::optional(found->place);
}

/// By part: nodes of its slice that have edges at this end, and their edges.
struct EndSlices {
  std::vector<std::uint64_t> nodes;
  std::vector<std::uint64_t> edges;
};

/// Of one edge type: by destination (the nodes with in-edges), by source (with out-edges).
struct EdgeEndSlices {
  EndSlices in;
  EndSlices out;
};

}  // namespace troupe
