#include "runtime/nn/knowledge/triple_chunk.hpp"

#include <algorithm>

namespace troupe::nn {
namespace {

ChunkRows rows_of(const TripleLossWork& work, std::size_t chunk, ConstMatrix factors) {
  const std::size_t first = chunk * work.options.chunk;
  const auto count = std::min<std::size_t>(work.options.chunk, work.known.size() - first);
  const std::size_t negatives = work.options.negatives;
  const auto relation = work.relation.subspan(first, count);
  return {.known = {work.entities, work.known.subspan(first, count)},
          .relation = {work.relations, relation},
          .answer = {work.entities, work.answer.subspan(first, count)},
          .negative = {work.entities, work.candidates.subspan(chunk * negatives, negatives)},
          .factors = factors.rows == 0 ? PlacedRows() : PlacedRows(factors, relation)};
}

}  // namespace

double TripleChunk::run(const TripleLossWork& work, std::size_t chunk, ConstMatrix factors,
                        Precision precision) {
  options_ = work.options;
  scorer_.set_score(options_.score);
  scorer_.set_precision(precision);
  const auto scores = scorer_.forward(work.replaced, rows_of(work, chunk, factors));
  const auto positive = positive_.get(scores.positive.size());
  const auto negative = negative_.matrix(scores.negative.rows, scores.negative.cols);
  const LinkGradients to{positive, negative};
  const auto loss =
      work.loss.rule == TripleRule::softmax
          ? chunk_softmax(scores, to)
          : chunk_self_adversarial(scores, work.loss.margin, work.loss.temperature, to, scratch_);
  scorer_.backward({positive, negative});
  return loss.sum;
}

void TripleChunk::pull_to_zero(const PlacedRows& rows, bool complex_rows, std::size_t i,
                               std::span<float> grad) const {
  regularize(options_.regularization, complex_rows, options_.factor,
             {rows.row(i).data(), 1, rows.cols()}, {grad.data(), 1, grad.size()});
}

std::span<const float> TripleChunk::entity_gradient(std::size_t i, std::span<float> scratch) const {
  const auto& rows = scorer_.rows();
  const std::size_t triples = rows.known.rows();
  if (i >= 2 * triples) {
    return scorer_.negative_gradients().row(i - 2 * triples);
  }
  if (i < triples) {
    scorer_.known_gradient(i, scratch);
    pull_to_zero(rows.known, options_.score.complex_rows(), i, scratch);
  } else {
    scorer_.answer_gradient(i - triples, scratch);
    pull_to_zero(rows.answer, options_.score.complex_rows(), i - triples, scratch);
  }
  return scratch;
}

std::span<const float> TripleChunk::relation_gradient(std::size_t i,
                                                      std::span<float> scratch) const {
  scorer_.relation_gradient(i, scratch);
  const bool angles = options_.score.row().angles;
  pull_to_zero(scorer_.rows().relation, options_.score.complex_rows() && !angles, i, scratch);
  return scratch;
}

}  // namespace troupe::nn
