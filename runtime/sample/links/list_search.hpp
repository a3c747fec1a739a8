#pragma once
/// \file list_search.hpp
/// Where in a neighbor list of a part a node is: for edges that a batch excludes, and for the question
/// whether the graph has an edge.
#include "runtime/graph/part.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// Entries of `lists.neighbours` that lead to a node. Lists are in order of their neighbors' original
/// ids, so a binary search finds them; lists with times, and those of nodes whose original ids the part
/// does not have, are read from end to end.
/// Threads: immutable; any number at once. Borrows its arguments
class ListSearch {
 public:
  /// \param neighbours  nodes of the neighbors' type, as the part knows them
  ListSearch(const PartNodes& neighbours, const NeighbourLists& lists)
      : nodes_(neighbours), lists_(lists) {}

  /// Appends the positions, from `begin` on, of the entries in [begin, end) that lead to `node`: all
  /// parallel edges, ascending.
  /// \requires end - begin < 2^32
  void find(std::uint64_t begin, std::uint64_t end, NodeId node,
            std::vector<std::uint32_t>& positions) const;
  bool has(std::uint64_t begin, std::uint64_t end, NodeId node) const;

 private:
  /// First entry in [begin, end) whose original id is that of `node` or higher; nothing where the part
  /// cannot say.
  std::optional<std::uint64_t> lower_bound(std::uint64_t begin, std::uint64_t end,
                                           NodeId node) const;
  std::optional<std::uint64_t> original_id(NodeId node) const;

  const PartNodes& nodes_;
  const NeighbourLists& lists_;
};

}  // namespace troupe
