#include "runtime/nn/knowledge/chunk_scorer.hpp"

#include "runtime/nn/knowledge/query_rows.hpp"

#include <algorithm>

namespace troupe::nn {

PlacedRows ChunkScorer::take(Units& units, const PlacedRows& rows) const {
  if (!score_.unit) {
    return rows;
  }
  const MutMatrix out = units.rows.matrix(rows.rows(), rows.cols());
  units.length = units.lengths.get(rows.rows());
  gather_rows(rows, out);
  unit_rows(score_.norm, out, out, units.length);
  return out;
}

/// Candidates lie one after the other for products.
ConstMatrix ChunkScorer::take_negatives(const PlacedRows& rows) {
  if (score_.unit || rows.is_dense()) {
    return take(negative_units_, rows).table();
  }
  const MutMatrix out = negative_units_.rows.matrix(rows.rows(), rows.cols());
  gather_rows(rows, out);
  return out;
}

void ChunkScorer::turn_back(const PlacedRows& used, const Units& units, std::size_t i,
                            std::span<float> grad) const {
  if (score_.unit) {
    unit_backward(score_.norm, {used.row(i).data(), 1, grad.size()}, units.length.subspan(i, 1),
                  {grad.data(), 1, grad.size()});
  }
}

LinkScores ChunkScorer::forward(ReplacedEnd replaced, const ChunkRows& rows) {
  const std::size_t n = rows.known.rows();
  const std::size_t cols = rows.known.cols();
  TROUPE_ASSERT(rows.relation.rows() == n && rows.answer.rows() == n &&
                    rows.answer.cols() == cols && rows.negative.cols() == cols,
                "rows of a chunk", n, cols, rows.relation.rows(), rows.answer.rows(),
                rows.answer.cols(), rows.negative.cols());
  replaced_ = replaced;
  rows_ = rows;
  known_ = take(known_units_, rows.known);
  answer_ = take(answer_units_, rows.answer);
  negative_ = take_negatives(rows.negative);
  factors_ = rows.factors;
  if (!score_.row().angles) {
    factors_ = rows.relation;
  } else if (factors_.cols() != cols) {
    const MutMatrix factors = factor_memory_.matrix(n, cols);
    for (std::size_t i = 0; i < n; ++i) {
      const auto relation = rows.relation.row(i);
      relation_factors(score_, {relation.data(), 1, relation.size()}, factors.slice(i, 1));
    }
    factors_ = factors;
  }
  queries_ = query_memory_.matrix(n, cols);
  query_rows(score_, replaced, known_, factors_, queries_);
  const auto positive = positive_memory_.get(n);
  const MutMatrix negative = negative_memory_.matrix(n, negative_.rows);
  scores_in_pairs(score_.comparison(), queries_, answer_, positive);
  pairs_.forward(score_.comparison(), queries_, negative_, negative);
  scores_ = {positive, negative};
  return scores_;
}

void ChunkScorer::backward(const LinkScores& grad) {
  TROUPE_ASSERT(grad.positive.size() == scores_.positive.size(), "gradients of a chunk",
                grad.positive.size(), scores_.positive.size());
  grad_positive_ = grad.positive;
  grad_queries_ = grad_query_memory_.matrix(queries_.rows, queries_.cols);
  grad_negatives_ = grad_negative_memory_.matrix(negative_.rows, negative_.cols);
  pairs_.backward(score_.comparison(), queries_, negative_, scores_.negative, grad.negative,
                  {grad_queries_, grad_negatives_});
  for (std::size_t i = 0; i < queries_.rows; ++i) {
    add_query_gradient(
        score_.comparison(),
        {queries_.row(i).data(), answer_.row(i).data(), scores_.positive[i], grad_positive_[i]},
        grad_queries_.row(i));
  }
  if (score_.unit) {
    unit_backward(score_.norm, negative_, negative_units_.length, grad_negatives_);
  }
}

void ChunkScorer::known_gradient(std::size_t i, std::span<float> out) const {
  nn::known_gradient(score_, replaced_,
                     {known_.row(i).data(), factors_.row(i).data(), grad_queries_.row(i).data()},
                     out);
  turn_back(known_, known_units_, i, out);
}

void ChunkScorer::relation_gradient(std::size_t i, std::span<float> out) const {
  nn::relation_gradient(score_, replaced_,
                        {known_.row(i).data(), factors_.row(i).data(), grad_queries_.row(i).data()},
                        out);
}

void ChunkScorer::answer_gradient(std::size_t i, std::span<float> out) const {
  std::ranges::fill(out, 0.0F);
  add_candidate_gradient(
      score_.comparison(),
      {queries_.row(i).data(), answer_.row(i).data(), scores_.positive[i], grad_positive_[i]}, out);
  turn_back(answer_, answer_units_, i, out);
}

void ChunkScorer::gradients(const ChunkGradients& out) const {
  TROUPE_ASSERT(known_.is_dense() && factors_.is_dense(), "gradients of rows by their places");
  query_backward(score_, replaced_, known_.table(), factors_.table(), grad_queries_,
                 {out.known, out.relation});
  for (std::size_t i = 0; i < queries_.rows; ++i) {
    turn_back(known_, known_units_, i, out.known.row(i));
    answer_gradient(i, out.answer.row(i));
  }
  std::ranges::copy(grad_negatives_.flat(), out.negative.data);
}

}  // namespace troupe::nn
