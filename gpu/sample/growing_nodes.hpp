#pragma once
/// \file growing_nodes.hpp
/// The nodes of a batch under way, and the tables that number them. For hop_sampling.hpp only.
#include "gpu/base/array.hpp"
#include "gpu/sample/device_graph.hpp"
#include "gpu/sample/number_bodies.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// The most nodes of each type that a batch had room for: where the next one begins.
using NodesExpected = std::vector<std::uint64_t>;

/// The host knows bounds of the numbers of nodes, the device the numbers.
/// Borrows: everything that it is made with
template <class Stream>
class GrowingNodes {
 public:
  GrowingNodes(Stream& on, const std::vector<DeviceNodes>& types, NodesExpected& expected)
      : on_(on), types_(types), expected_(expected), nodes_(types.size()) {}

  /// \param ends  on the device: [types] nodes that there are; zeros
  void begin(std::uint32_t* ends) { ends_ = ends; }
  std::uint32_t* end(std::size_t type) const { return ends_ + type; }
  const std::uint64_t* ids(std::size_t type) const { return nodes_[type].ids.data(); }
  Array<std::uint64_t> take_ids(std::size_t type) { return std::move(nodes_[type].ids); }

  /// There are at most so many nodes.
  std::uint64_t most(std::size_t type) const { return nodes_[type].most; }
  void set_most(std::size_t type, std::uint64_t most) { nodes_[type].most = most; }
  /// And with so many candidates more.
  std::uint64_t most_with(std::size_t type, std::uint64_t candidates) const {
    return std::min(nodes_[type].most + candidates, types_[type].count);
  }

  /// Calls `f` with the table of a type. \requires reserve()
  template <class F>
  void with_table(std::size_t type, F&& f) const {
    const auto& nodes = nodes_[type];
    if (types_[type].id_bytes == 4) {
      f(NodeTable<std::uint32_t>{nodes.words.data(), nullptr, nodes.bits});
    } else {
      f(NodeTable<std::uint64_t>{nodes.words.data(), nodes.values.data(), nodes.bits});
    }
  }

  /// Makes room for so many nodes, at most half a table.
  void reserve(std::size_t type, std::uint64_t count) {
    auto& nodes = nodes_[type];
    expected_[type] = std::max(expected_[type], count);
    count = expected_[type];
    if (nodes.bits > 0 && count <= nodes.ids.size()) {
      return;
    }
    auto ids = on_.template array<std::uint64_t>(count);
    if (on_.failed()) {
      return;
    }
    if (nodes.most > 0) {
      on_.copy(nodes.ids.data(), ids.data(), nodes.most * sizeof(std::uint64_t));
    }
    nodes.ids = std::move(ids);
    nodes.bits = 1;
    while ((std::uint64_t{1} << nodes.bits) < 2 * count) {
      ++nodes.bits;
    }
    const std::size_t slots = std::size_t{1} << nodes.bits;
    nodes.words = on_.template array<std::uint64_t>(slots);
    nodes.values = on_.template array<std::uint32_t>(types_[type].id_bytes == 8 ? slots : 0);
    with_table(type, [&]<class Table>(const Table& table) {
      on_.for_each(slots, EmptySlot<Table>{table});
      on_.for_each(nodes.most, InsertKnown<Table>{table, nodes.ids.data(), end(type)});
    });
  }

  /// Numbers candidates that are in the table.
  void number(std::size_t type, std::span<const CandidateSlice> slices, std::uint64_t candidates) {
    with_table(type, [&](const auto& table) {
      number_candidates(on_, table, slices, candidates, nodes_[type].ids.data(), end(type));
    });
    nodes_[type].most = most_with(type, candidates);
  }

 private:
  struct Nodes {
    Array<std::uint64_t> ids;
    Array<std::uint64_t> words;   ///< Of the table
    Array<std::uint32_t> values;  ///< Of the table, where ids have 8 bytes
    std::uint32_t bits = 0;       ///< Of the table; 0: none yet
    std::uint64_t most = 0;
  };

  Stream& on_;
  const std::vector<DeviceNodes>& types_;
  NodesExpected& expected_;
  std::vector<Nodes> nodes_;
  std::uint32_t* ends_ = nullptr;
};

}  // namespace troupe::gpu
