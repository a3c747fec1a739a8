#pragma once
/// \file random_node.hpp
/// Uniform draws of nodes, as decision 0030 has them.
#include "runtime/base/philox.hpp"

#include <cstdint>
#include <limits>

namespace troupe {

/// A number below `nodes`: below, or below64 from 2^32 nodes on. \requires nodes >= 1
inline std::uint64_t random_original_id(DrawStream stream, std::uint64_t nodes) {
  return nodes <= std::numeric_limits<std::uint32_t>::max()
             ? stream.below(static_cast<std::uint32_t>(nodes))
             : stream.below64(nodes);
}

}  // namespace troupe
