#pragma once
/// \file sbm.hpp
/// Graphs with planted classes of equal size: the stochastic block model (Holland, Laskey, Leinhardt:
/// "Stochastic blockmodels: first steps", Social Networks 1983). Labels are the blocks, so that both
/// edges and features say something about them.
#include "runtime/generate/one_type_graph.hpp"

namespace troupe {

struct SbmOptions : GenerateOptions {
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;  ///< drawn, before symmetrising
};

/// Describes the graph; the writers of one_type_graph.hpp draw it. An edge's source is uniform; with
/// probability `homophily` its destination is uniform in the same class, else in the others. Both
/// may be one node, and edges may be parallel.
/// \errors invalid_argument: options that cannot be, by name
Result<generate::OneTypeGraph> sbm_graph(const SbmOptions& options);

}  // namespace troupe
