#pragma once
/// \file pair_scores.hpp
/// Scores of pairs of rows: sums of products of their columns, as DistMult has them with a vector for
/// each relation (Yang et al., "Embedding entities and relations for learning and inference in
/// knowledge bases", 2015), and the dot product without one. Functions here work in host memory.
#include "runtime/base/executor.hpp"
#include "runtime/base/matrix.hpp"

#include <cstdint>
#include <span>

namespace troupe::nn {

/// Pairs of a row of `sources` and a row of `destinations`, which may be the same matrix.
struct RowPairs {
  ConstMatrix sources;                ///< [any, cols]
  ConstMatrix destinations;           ///< [any, cols]
  std::span<const std::uint32_t> of;  ///< [pairs] row of `sources`
  std::span<const std::uint32_t> to;  ///< [pairs] row of `destinations`

  std::size_t size() const { return of.size(); }
};

/// scores[i, r] = sum over c of source[c] * relations[r, c] * destination[c] of pair i; without
/// relations one column, the dot product. The same bits for any executor; a pair's depend on its rows
/// alone.
/// \param relations  [score columns, cols], or no data
/// \param scores     [pairs, score columns], written
void pair_scores(Executor& executor, const RowPairs& pairs, ConstMatrix relations,
                 MutMatrix scores);

/// What the gradients of pair scores are added to. The matrices of both ends may be the same.
struct PairGradients {
  MutMatrix sources;
  MutMatrix destinations;
  MutMatrix relations;  ///< no data: none
};

/// Adds the gradients of sum(scores * grad). To each row first as a source, then as a destination, in
/// order of the pairs: the same bits for any executor.
/// \param grad  [pairs, score columns]
void pair_scores_gradient(Executor& executor, const RowPairs& pairs, ConstMatrix relations,
                          ConstMatrix grad, const PairGradients& to);

}  // namespace troupe::nn
