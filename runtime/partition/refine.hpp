#pragma once
/// \file refine.hpp
/// Fewer cut edges by moves of single vertices.
#include "runtime/base/executor.hpp"
#include "runtime/partition/adjacency.hpp"
#include "runtime/partition/constraints.hpp"

#include <cstdint>
#include <span>

namespace troupe {

/// Moves vertices to the part that most of their neighbours are in, where there is room, until few
/// move: label propagation with the parts as labels. Each move lowers the cut. Equal for any number
/// of threads.
/// \param part_of  [vertices]
/// \cost a pass reads all lists once; `most_passes` at most
void refine(const Adjacency& graph, const Constraints& constraints,
            std::span<std::uint32_t> part_of, std::uint32_t parts, std::uint32_t most_passes,
            Executor& executor);

}  // namespace troupe
