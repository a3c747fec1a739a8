#pragma once
/// \file rmat.hpp
/// Random graphs whose degrees are as skewed as those of real ones, of any size: R-MAT
/// (Chakrabarti, Zhan, Faloutsos: "R-MAT: a recursive model for graph mining", SDM 2004).
#include "runtime/generate/one_type_graph.hpp"

namespace troupe {

struct RmatOptions : GenerateOptions {
  std::uint64_t nodes = 0;  ///< 1 to 2^32
  std::uint64_t edges = 0;  ///< drawn, before symmetrising
  /// Probabilities of the quadrants (0,0), (0,1) and (1,0) of (source bit, destination bit) at
  /// every level; (1,1) has the rest.
  double a = 0.57;
  double b = 0.19;
  double c = 0.19;
};

/// Describes the graph; the writers of one_type_graph.hpp draw it.
///
/// scale = ceil(log2 N); an edge takes one quadrant per level, which gives two cells of [0, 2^scale);
/// each becomes floor(cell * N / 2^scale), then an id by a keyed permutation. Duplicates and loops
/// are kept. Draws are named in streams.hpp, so the graph is a function of the options alone.
///
/// With learnable labels, cells are dealt to classes at random. Sources stay. With probability
/// `homophily` an edge's destination is drawn among the source's class by R-MAT's own in-degrees;
/// else it stays if it is of another class, and is drawn among the other classes if not. Where b = c
/// the expected degrees stay about the same; which nodes meet does not.
/// \errors invalid_argument: options that cannot be, by name
Result<generate::OneTypeGraph> rmat_graph(const RmatOptions& options);

}  // namespace troupe
