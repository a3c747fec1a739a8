#pragma once
/// \file list_search.hpp
/// Where in neighbor lists of a part nodes are: for edges that a batch excludes, and for the question
/// whether the graph has an edge.
#include "runtime/graph/part.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace troupe {

/// Entries of `lists.neighbours` that lead to a node. Lists are in order of their neighbors' original
/// ids, so binary searches find them, many side by side: each makes one step, then the next its own, so
/// that their reads of memory overlap. Lists with times, and those of nodes whose original ids the part
/// does not have, are read from end to end.
/// Threads: immutable; any number at once. Borrows its arguments
class ListSearch {
 public:
  /// Searches that make their steps together.
  static constexpr std::size_t side_by_side = 64;

  /// The entries [begin, end) are searched for `node`.
  struct Search {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    NodeId node{};
    std::uint64_t from = 0;  ///< Set by start(): no entry before leads to the node
    bool sorted = false;     ///< Set by start(): those that do lie side by side, from `from` on
  };

  /// \param neighbours  nodes of the neighbors' type, as the part knows them
  ListSearch(const PartNodes& neighbours, const NeighbourLists& lists)
      : nodes_(neighbours), lists_(lists) {}

  /// Finds where the entries that lead to the nodes may begin.
  void start(std::span<Search> searches) const;
  /// Appends the positions, from its `begin` on, of the entries that lead to the node of a search that
  /// was started: all parallel edges, ascending.
  /// \requires end - begin < 2^32
  template <class Positions>
  void add_positions(const Search& search, Positions& positions) const {
    lists_.neighbours.visit([&](auto ids) {
      for (std::uint64_t at = search.from; at < search.end; ++at) {
        if (ids[at] == raw(search.node)) {
          positions.push_back(static_cast<std::uint32_t>(at - search.begin));
        } else if (search.sorted) {
          return;
        }
      }
    });
  }
  /// Whether an entry leads to the node of a search that was started.
  bool found(const Search& search) const;

 private:
  void start_group(std::span<Search> searches) const;
  std::optional<std::uint64_t> original_id(NodeId node) const;

  const PartNodes& nodes_;
  const NeighbourLists& lists_;
};

}  // namespace troupe
