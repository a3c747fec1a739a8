#include "runtime/nn/knowledge/chunk_scorer.hpp"

#include <algorithm>

namespace troupe::nn {

void ChunkScorer::take(Entities& entities, ConstMatrix rows) const {
  entities.used = rows;
  if (score_.unit) {
    const MutMatrix units = entities.rows.matrix(rows.rows, rows.cols);
    entities.length = entities.lengths.get(rows.rows);
    unit_rows(score_.norm, rows, units, entities.length);
    entities.used = units;
  }
}

void ChunkScorer::turn_back(const Entities& entities, MutMatrix grad) const {
  if (score_.unit) {
    unit_backward(score_.norm, entities.used, entities.length, grad);
  }
}

LinkScores ChunkScorer::forward(ReplacedEnd replaced, const ChunkRows& rows) {
  const std::size_t n = rows.known.rows;
  const std::size_t cols = rows.known.cols;
  TROUPE_ASSERT(rows.relation.rows == n && rows.answer.rows == n && rows.answer.cols == cols &&
                    rows.negative.cols == cols,
                "rows of a chunk", n, cols, rows.relation.rows, rows.answer.rows, rows.answer.cols,
                rows.negative.cols);
  replaced_ = replaced;
  take(known_, rows.known);
  take(answer_, rows.answer);
  take(negative_, rows.negative);
  factors_ = factor_memory_.matrix(n, cols);
  queries_ = query_memory_.matrix(n, cols);
  relation_factors(score_, rows.relation, factors_);
  query_rows(score_, replaced, known_.used, factors_, queries_);
  const auto positive = positive_memory_.get(n);
  const MutMatrix negative = negative_memory_.matrix(n, rows.negative.rows);
  scores_in_pairs(score_.comparison(), queries_, answer_.used, positive);
  pairs_.forward(score_.comparison(), queries_, negative_.used, negative);
  scores_ = {positive, negative};
  return scores_;
}

void ChunkScorer::backward(const ChunkRows& rows, const LinkScores& grad,
                           const ChunkGradients& out) {
  TROUPE_ASSERT(
      grad.positive.size() == scores_.positive.size() && out.answer.size() == rows.answer.size(),
      "gradients of a chunk", grad.positive.size(), scores_.positive.size(), out.answer.size(),
      rows.answer.size());
  const MutMatrix grad_queries = grad_memory_.matrix(queries_.rows, queries_.cols);
  pairs_.backward(score_.comparison(), queries_, negative_.used, scores_.negative, grad.negative,
                  {grad_queries, out.negative});
  std::ranges::fill(out.answer.flat(), 0.0F);
  pairs_backward(score_.comparison(), queries_, answer_.used, scores_.positive, grad.positive,
                 {grad_queries, out.answer});
  query_backward(score_, replaced_, known_.used, factors_, grad_queries, {out.known, out.relation});
  turn_back(known_, out.known);
  turn_back(answer_, out.answer);
  turn_back(negative_, out.negative);
}

}  // namespace troupe::nn
