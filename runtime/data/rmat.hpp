#pragma once
/// \file rmat.hpp
/// Random graphs whose degrees are as skewed as those of real ones, of any size: R-MAT
/// (Chakrabarti, Zhan, Faloutsos: "R-MAT: a recursive model for graph mining", SDM 2004), with
/// features, labels and seeds that mean nothing. For benchmarks and tests, not for accuracy.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"

#include <cstdint>
#include <filesystem>

namespace troupe {

struct RmatOptions {
  std::uint64_t nodes = 0;  ///< 1 to 2^32
  std::uint64_t edges = 0;  ///< drawn, before symmetrising
  /// Probabilities of the quadrants (0,0), (0,1) and (1,0) of (source bit, destination bit) at
  /// every level; (1,1) has the rest.
  double a = 0.57;
  double b = 0.19;
  double c = 0.19;
  bool symmetrize = false;     ///< every edge also in the other direction, a loop twice
  std::uint64_t features = 0;  ///< columns of x.npy, uniform in [-0.5, 0.5); 0: no such file
  std::uint64_t classes = 0;   ///< labels in y.npy, uniform; 0: no such file
  std::uint64_t train = 0;     ///< distinct nodes in train_idx.npy; 0: no such file
  std::uint64_t seed = 0;
};

/// What was generated.
struct RmatSummary {
  std::uint64_t edges = 0;  ///< in the files: twice those drawn if symmetrised
  std::uint64_t max_degree = 0;
  std::uint64_t median_degree = 0;
  std::uint64_t isolated_nodes = 0;  ///< without in-neighbours
  std::uint64_t memory_bytes = 0;    ///< of the largest arrays held at once
};

/// Generates a graph into the new folder `out`, atomically (not flushed): `indptr.npy` (i64, [N +
/// 1]) and `indices64.npy` (i64, [E]), the in-neighbours of each node in ascending order, `x.npy`,
/// `y.npy`, `train_idx.npy`, `meta.json`. import_npy() and the peers' scripts read the same files.
///
/// scale = ceil(log2 N); an edge takes one quadrant per level; an id of [0, 2^scale) becomes
/// floor(id * N / 2^scale), then its place in a keyed permutation. Duplicates and loops are kept.
/// Draws are those of domain `generators` (design, section 4), named by `hop`: 1 quadrants (id =
/// edge, word = level, highest level first), 2 permutation of ids, 3 features (id = node, word =
/// column), 4 labels (id = node), 5 permutation whose first nodes are the train seeds. So the files
/// are a function of the options alone, whatever the number of threads.
/// \errors invalid_argument: options that cannot be, by name; failed_precondition: `out` exists or
///   cannot be written; out_of_memory: more than this machine has, with the bytes
/// \cost   edges are drawn twice and never kept: 4 bytes per edge in the files + 12 per node
Result<RmatSummary> generate_rmat(const RmatOptions& options, Executor& executor,
                                  const std::filesystem::path& out);

}  // namespace troupe
