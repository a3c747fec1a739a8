#pragma once
/// \file pair_scores.hpp
/// Comparisons of rows: queries of triples with candidates, one by one or all with all. All run on
/// the calling thread, in an order that depends on shapes alone; a pair's bits depend on its two
/// rows, on the number of columns, and in a product on the pair's place (decision 0006).
#include "runtime/base/matrix.hpp"
#include "runtime/nn/knowledge/placed_rows.hpp"
#include "runtime/nn/knowledge/triple_score.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/precision.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace troupe::nn {

/// From products, |q|² + |c|² - 2 q·c loses as many digits as it is smaller than its terms. Below
/// this share of them a distance is computed from differences.
inline constexpr float near_share = 0x1p-6F;

/// scores[i] = comparison of row i of `queries` with row i of `candidates`.
void scores_in_pairs(Comparison comparison, ConstMatrix queries, const PlacedRows& candidates,
                     std::span<float> scores);

/// One query and one candidate, of as many columns, with their score and the gradient of that.
struct ScoredPair {
  const float* query;
  const float* candidate;
  float score;
  float grad;
};
// The gradient of a pair's score by its rows is 0 where a distance, one of its columns or a modulus is 0.

/// Adds it to that of the query.
void add_query_gradient(Comparison comparison, const ScoredPair& pair, std::span<float> to);
/// Adds it to that of the candidate.
void add_candidate_gradient(Comparison comparison, const ScoredPair& pair, std::span<float> to);

/// Gradients by the rows of both sides.
struct PairSides {
  MutMatrix queries;
  MutMatrix candidates;
};

/// Rows turned into tiles of `width` columns, padded with zeros, for distances without products.
class RowTiles {
 public:
  static constexpr std::size_t width = 64;

  void assign(ConstMatrix rows);
  std::size_t count() const { return (rows_ + width - 1) / width; }
  /// [cols, width]
  const float* tile(std::size_t i) const { return values_.data() + i * cols_ * width; }

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  Matrix values_;
};

/// out[i] = distance of `row` and row i of a tile, added column by column. \param comparison  not a
/// product
void tile_distances(Comparison comparison, std::span<const float> row, const float* tile,
                    std::array<float, RowTiles::width>& out);

/// out[i] = sum over k of factors[k] * max(0, row[k] + row i of a tile at k), column by column; a NaN stays.
void tile_hinges(std::span<const float> row, std::span<const float> factors, const float* tile,
                 std::array<float, RowTiles::width>& out);

/// All queries against all candidates of a chunk: scores [queries, candidates], and their
/// gradients. Keeps scratch memory. Threads: one at a time
class AllPairs {
 public:
  /// Of products from here on.
  void set_precision(Precision precision) { precision_ = precision; }

  void forward(Comparison comparison, ConstMatrix queries, ConstMatrix candidates,
               MutMatrix scores);

  /// Of the last forward().
  /// \param grad    [queries, candidates] of the scores
  /// \param out     overwritten
  void backward(Comparison comparison, ConstMatrix queries, ConstMatrix candidates,
                ConstMatrix scores, ConstMatrix grad, const PairSides& out);

 private:
  void euclidean_forward(ConstMatrix queries, ConstMatrix candidates, MutMatrix scores);
  void euclidean_backward(ConstMatrix queries, ConstMatrix candidates, ConstMatrix scores,
                          ConstMatrix grad, const PairSides& out);
  void product_backward(ConstMatrix queries, ConstMatrix candidates, ConstMatrix grad,
                        const PairSides& out);

  Precision precision_ = Precision::float32;
  RowTiles tiles_;
  GrowBuffer<float> squares_;  ///< of queries, then of candidates; then room for sums of the latter
  GrowBuffer<float> shares_;   ///< gradients over distances
  GrowBuffer<float> partials_;  ///< of products
};

}  // namespace troupe::nn
