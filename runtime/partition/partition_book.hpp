#pragma once
/// \file partition_book.hpp
/// The map from node to partition: contiguous ranges of global ids, a few bytes per part and type.
#include "runtime/base/ids.hpp"
#include "runtime/graph/store.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace troupe {

/// Threads: immutable; any number at once.
class PartitionBook {
 public:
  explicit PartitionBook(PartRanges ranges) : first_(std::move(ranges.first_node)) {}

  std::uint32_t parts() const {
    return first_.empty() ? 0 : static_cast<std::uint32_t>(first_.front().size() - 1);
  }
  std::size_t node_types() const { return first_.size(); }
  /// Number of nodes of a type; every valid global id is below it.
  std::uint64_t count(NodeTypeId type) const { return first_[raw(type)].back(); }
  bool contains(NodeTypeId type, NodeId id) const { return raw(id) < count(type); }

  /// The part that owns a node.
  /// \requires contains(type, id)
  PartId owner(NodeTypeId type, NodeId id) const {
    const auto& first = first_[raw(type)];
    constexpr std::size_t few_parts = 32;
    if (first.size() <= few_parts + 1) {  // no branch that depends on the id
      std::uint32_t part = 0;
      for (std::size_t next = 1; next + 1 < first.size(); ++next) {
        part += first[next] <= raw(id) ? 1U : 0U;
      }
      return static_cast<PartId>(part);
    }
    const auto after = std::upper_bound(first.begin(), first.end(), raw(id));
    return static_cast<PartId>(after - first.begin() - 1);
  }
  /// The ids [first, end) that a part owns.
  struct Range {
    NodeId first;
    NodeId end;
    std::uint64_t size() const { return raw(end) - raw(first); }
  };
  Range range(NodeTypeId type, PartId part) const {
    const auto& first = first_[raw(type)];
    return {static_cast<NodeId>(first[raw(part)]), static_cast<NodeId>(first[raw(part) + 1])};
  }

 private:
  std::vector<std::vector<std::uint64_t>> first_;
};

}  // namespace troupe
