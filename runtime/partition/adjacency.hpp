#pragma once
/// \file adjacency.hpp
/// A graph store as one undirected graph: what assigners and measures work on. Sampling does not
/// use it.
#include "runtime/base/buffer.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/id_list.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

struct AdjacencyOptions {
  /// Lists that take more than half of it go to a scratch file, sorted in that much memory.
  std::uint64_t memory_bytes = 4'000'000'000;
  std::filesystem::path scratch = {};  ///< folder of the scratch file; empty: the system's
  /// A block of lists that is put together takes this much even where less memory is allowed: each
  /// block is a pass over the edges.
  std::uint64_t least_block_bytes = std::uint64_t{1} << 26;
};

/// All nodes of a graph store as vertices of one undirected graph, types one after the other. The
/// neighbours of a vertex are the other ends of all edges of all types that touch it, parallel
/// edges as often as they are. A graph of one node and one edge type whose edges all exist in both
/// directions is borrowed from the store, and each pair of edges then counts once for each end;
/// other graphs are put together in memory or in a scratch file.
/// Threads: immutable; any number at once
/// Owns:    the lists, or a share of the store's
class Adjacency {
 public:
  Adjacency(Adjacency&&) = default;
  Adjacency& operator=(Adjacency&&) = default;
  /// \errors failed_precondition: the scratch file cannot be made; out_of_memory
  /// \cost one pass over the edges; where the graph is not borrowed two more by each of up to 8
  ///   threads, the last once for each block, and 8 bytes per vertex and 8 per edge (16 where there
  ///   are 2^32 vertices)
  static Result<Adjacency> make(const GraphStore& graph, const AdjacencyOptions& options,
                                Executor& executor);

  std::uint64_t vertices() const { return first_vertex_.back(); }
  /// Entries of all lists, loops left out.
  std::uint64_t entries() const { return entries_; }
  /// How many entries one edge of the graph makes: 1 where the lists are borrowed, else 2.
  std::uint64_t entries_per_edge() const { return borrowed_ ? 1 : 2; }
  bool borrowed() const { return borrowed_; }

  std::size_t types() const { return first_vertex_.size() - 1; }
  /// First vertex of a node type; of `types()`: the number of vertices.
  std::uint64_t first_vertex(std::size_t type) const { return first_vertex_[type]; }

  /// Vertex v's list is [offsets[v], offsets[v + 1]) of `lists`. Borrowed lists may hold loops.
  std::span<const std::uint64_t> offsets() const { return offsets_; }
  IdSpan lists() const { return lists_; }
  /// Entries of the list of `v`, with the loops that it holds.
  std::uint64_t degree(std::uint64_t v) const { return offsets_[v + 1] - offsets_[v]; }

  /// Calls `f(neighbour)` for all entries of the list of `v`, loops left out. For code that is not
  /// hot: it looks the width of ids up each time.
  template <class F>
  void for_each_neighbour(std::uint64_t v, F&& f) const {
    lists_.visit([&](auto ids) {
      for (auto i = offsets_[v]; i < offsets_[v + 1]; ++i) {
        if (ids[i] != v) {
          f(std::uint64_t{ids[i]});
        }
      }
    });
  }

 private:
  Adjacency() = default;
  bool borrow(Executor& executor);
  Status assemble(const GraphInfo& info, const AdjacencyOptions& options, Executor& executor);
  template <class Id>
  Status fill(const GraphInfo& info, std::span<std::uint64_t> cursor,
              const AdjacencyOptions& options, Executor& executor);
  template <class Id>
  void fill_block(const GraphInfo& info, std::span<std::uint64_t> cursor,
                  std::pair<std::uint64_t, std::uint64_t> block, Id* ids, Executor& executor) const;
  template <class F>
  void for_each_pair(const GraphInfo& info, F f) const;

  std::shared_ptr<const Part> graph_;
  std::vector<std::uint64_t> first_vertex_;
  std::uint64_t entries_ = 0;
  bool borrowed_ = false;
  std::span<const std::uint64_t> offsets_;
  IdSpan lists_;
  std::vector<std::uint64_t> own_offsets_;
  Segment own_lists_;
};

}  // namespace troupe
