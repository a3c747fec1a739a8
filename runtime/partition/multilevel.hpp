#pragma once
/// \file multilevel.hpp
/// Cuts nearly as small as METIS', for graphs that METIS has no memory or indices for.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/partition/adjacency.hpp"
#include "runtime/partition/assign.hpp"
#include "runtime/partition/constraints.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// Part of every vertex: clusters (clustering.hpp), METIS on the graph of the clusters (contract.hpp),
/// moves of single vertices (rebalance.hpp, refine.hpp). Clusters begin small and may grow until at
/// most an eighth of the graph's neighbour entries lead from one to another, or they are as large as
/// METIS can still balance; so METIS needs about an eighth of the memory. The lists are read in
/// order, some ten to forty times, and may lie on disk.
/// \errors unimplemented: 2^32 - 1 vertices or more, or a program built without METIS; out_of_memory
/// \cost 16 bytes per vertex and 8 per vertex and constraint; METIS' for an eighth of the entries
Result<std::vector<std::uint32_t>> assign_multilevel(const Adjacency& graph,
                                                     const Constraints& constraints,
                                                     const AssignOptions& options,
                                                     Executor& executor);

}  // namespace troupe
