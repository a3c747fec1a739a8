#pragma once
/// \file powerlaw.hpp
/// Graphs whose expected degrees follow a power law: Chung and Lu ("Connected components in random
/// graphs with given expected degree sequences", Annals of Combinatorics 2002). With classes, it is a
/// degree-corrected block model (Karrer and Newman, Physical Review E 2011).
#include "runtime/generate/one_type_graph.hpp"

#include <vector>

namespace troupe {

struct PowerlawOptions : GenerateOptions {
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;  ///< drawn, before symmetrising
  double exponent = 2.5;    ///< the share of nodes of degree d is about d^-exponent; 2 to 10
};

/// Describes the graph; the writers of one_type_graph.hpp draw it. The node of rank r has weight
/// (r + 1)^(-1 / (exponent - 1)); both ends of an edge are drawn by weight, so that weights times a
/// constant are the expected in-degrees and out-degrees. Ids are permuted, so a degree says nothing
/// about an id. With learnable labels, the node of rank r is of class r mod classes; the destination
/// is drawn by weight among the source's class with probability `homophily`, else among the others.
/// Both may be one node, and edges may be parallel.
/// \errors invalid_argument: options that cannot be, by name
Result<generate::OneTypeGraph> powerlaw_graph(const PowerlawOptions& options);

namespace generate {
/// Weights of ranks 0.., as whole numbers: at least 1, with a sum below 2^63.
std::vector<std::uint64_t> power_weights(std::uint64_t ranks, double exponent, Executor& executor);
}  // namespace generate

}  // namespace troupe
