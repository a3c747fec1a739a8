#pragma once
/// \file tree_numbers.hpp
/// Numbers the nodes of a disjoint batch, where each tree knows its own nodes only.
#include "runtime/sample/node_numbers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace troupe {

/// The nodes of one type. A batch asks tree by tree, so one small table serves all trees: at the first ids
/// of a tree after another one it is filled with the nodes that the tree has. It stays in the fastest cache,
/// where a table of the nodes of all trees would be read from memory for every id.
/// Lifecycle: begin() for each batch; keeps its memory, as much as the largest tree needed
/// Threads:   one at a time
class TreeNumbers {
 public:
  /// \param end  every id is below it, and below 2^64 - 1
  explicit TreeNumbers(std::uint64_t end) {
    if (end > std::numeric_limits<std::uint32_t>::max()) {
      table_.emplace<NodeTable<std::uint64_t>>();
    }
  }

  /// Forgets all nodes.
  void begin() {
    runs_.clear();
    last_run_.clear();
    in_table_.reset();
  }

  /// Says how many nodes a batch had.
  void end(std::size_t nodes) { expected_ = std::max(nodes, expected_ - expected_ / 8); }
  /// As many as a batch of late had.
  std::size_t expected() const { return expected_; }

  /// Gives the ids of a tree their numbers, in order. An id that is new in the tree is added to `nodes`
  /// and has its place there as number.
  /// \param nodes  those that were added since begin(), nothing else
  /// \param out    [ids]
  /// \requires nodes.size() + ids.size() < 2^32
  /// \cost reads the nodes that the tree has if the ids before were of another tree, or its nodes have doubled
  template <class From>
  void number(std::uint32_t tree, std::span<const From> ids, PooledVector<NodeId>& nodes,
              std::uint32_t* out) {
    if (tree >= last_run_.size()) {
      last_run_.resize(tree + std::size_t{1}, no_run);
    }
    const auto begin = static_cast<std::uint32_t>(nodes.size());
    std::visit(
        [&](auto& table) {
          if (in_table_ != tree || !table.has_room(ids.size())) {
            fill(table, tree, ids.size(), nodes);
          }
          table.number(ids, 0, ids.size(), nodes, out);
        },
        table_);
    add_run(tree, begin, static_cast<std::uint32_t>(nodes.size()));
  }

  /// Memory that is kept.
  std::size_t bytes() const {
    return runs_.capacity() * sizeof(Run) + last_run_.capacity() * sizeof(std::uint32_t) +
           std::visit([](const auto& table) { return table.bytes(); }, table_);
  }

 private:
  static constexpr std::uint32_t no_run = std::numeric_limits<std::uint32_t>::max();
  /// Nodes [begin, end) of a tree, which were added together.
  struct Run {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t before;  ///< Run of the same tree, or `no_run`
  };

  /// Puts the nodes of a tree into the table. \param more  ids that it has room for besides
  template <class Table>
  void fill(Table& table, std::uint32_t tree, std::size_t more, const PooledVector<NodeId>& nodes) {
    std::size_t known = 0;
    for (auto run = last_run_[tree]; run != no_run; run = runs_[run].before) {
      known += runs_[run].end - runs_[run].begin;
    }
    table.begin(known + more);
    for (auto run = last_run_[tree]; run != no_run; run = runs_[run].before) {
      for (auto number = runs_[run].begin; number < runs_[run].end; ++number) {
        table.add(nodes[number], number);
      }
    }
    in_table_ = tree;
  }

  /// Nodes that follow those of the tree's last run lengthen it.
  void add_run(std::uint32_t tree, std::uint32_t begin, std::uint32_t end) {
    auto& last = last_run_[tree];
    if (begin == end) {
      return;
    }
    if (last != no_run && runs_[last].end == begin) {
      runs_[last].end = end;
      return;
    }
    runs_.push_back({begin, end, last});
    last = static_cast<std::uint32_t>(runs_.size() - 1);
  }

  std::variant<NodeTable<std::uint32_t>, NodeTable<std::uint64_t>> table_;
  std::vector<Run> runs_;
  std::vector<std::uint32_t> last_run_;    ///< By tree
  std::optional<std::uint32_t> in_table_;  ///< Tree whose nodes the table has, all of them
  std::size_t expected_ = 0;
};

}  // namespace troupe
