#pragma once
/// \file rebalance.hpp
/// Brings an assignment that exceeds limits back within them. For assigners that keep limits only
/// by and large.
#include "runtime/partition/adjacency.hpp"
#include "runtime/partition/constraints.hpp"

#include <cstdint>
#include <span>

namespace troupe {

/// Moves vertices out of parts that are past a limit, where that makes the sum of all excess
/// smaller, to the part with most neighbours; first vertices that lose no neighbour by it. What
/// several constraints do not allow at once is left as it is.
/// \param part_of  [vertices], each below `parts`
/// \param slack    as of `Constraints::limit`
/// \cost nothing but one pass over the vertices where all limits hold
void rebalance(const Adjacency& graph, const Constraints& constraints,
               std::span<std::uint32_t> part_of, std::uint32_t parts, double slack = 1);

}  // namespace troupe
