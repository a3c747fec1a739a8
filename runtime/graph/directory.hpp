#pragma once
/// \file directory.hpp
/// The directory of a node type: where each original id has gone. It is cut over the parts by ranges
/// of original ids, whichever nodes these own, so that any part's slice can be asked by number.
#include "runtime/base/ids.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe {

/// Slices of one node type's directory: even ones, the first of them one longer where the number of
/// nodes does not divide.
struct DirectorySlices {
  std::uint64_t nodes = 0;
  std::uint32_t parts = 1;

  /// First original id of a part's slice; `nodes` for part `parts`.
  std::uint64_t first(std::uint32_t part) const {
    return part * (nodes / parts) + std::min<std::uint64_t>(part, nodes % parts);
  }
  /// The part whose slice has a node. \requires id < nodes
  PartId part_of(OriginalId id) const {
    const std::uint64_t shorter = nodes / parts;
    const std::uint64_t longer = nodes % parts;  // So many slices have one more
    const std::uint64_t in_longer = longer * (shorter + 1);
    return static_cast<PartId>(raw(id) < in_longer ? raw(id) / (shorter + 1)
                                                   : longer + (raw(id) - in_longer) / shorter);
  }
};

}  // namespace troupe
