#pragma once
/// \file indexed_lists.hpp
/// The lists of a hop's nodes that have entries, by section, found by the index of a part
/// (runtime/graph/list_index.hpp). For one_hop.cpp only.
#include "runtime/base/buffer.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/sample/hop_request.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// A list that has entries.
struct ListAt {
  std::uint32_t place;  ///< Of the node in its section's frontier
  std::uint32_t begin;  ///< First entry
  std::uint32_t entries;
};

/// Of the part's own nodes.
/// Threads: immutable; any number at once. Borrows the part's arrays
class IndexedLists {
 public:
  /// \returns nothing where it is cheaper to look at all lists, or they must be looked at to say what is
  ///   wrong with the request
  /// \requires check_hop_request() has passed
  /// \cost one pass over the frontiers to count, one to place; 12 bytes a list
  static std::optional<IndexedLists> find(const Part& part, const HopRequest& request);

  /// Of a section, in the order of its frontier.
  std::span<const ListAt> of(std::size_t section) const {
    return lists_.as<const ListAt>().subspan(begins_[section],
                                             begins_[section + 1] - begins_[section]);
  }

 private:
  Buffer lists_;
  std::vector<std::size_t> begins_;  ///< [sections + 1]
};

}  // namespace troupe
