#include "runtime/nn/knowledge/triple_chunk.hpp"

#include <algorithm>
#include <utility>

namespace troupe::nn {
namespace {

/// Its values are written anew.
void shape_as(const Matrix& like, Matrix& to) {
  if (to.rows() != like.rows() || to.cols() != like.cols()) {
    to = Matrix(like.rows(), like.cols());
  }
}

void add_at_places(const Matrix& from, std::span<const std::uint32_t> places, MutMatrix to) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const float* row = from.view().row(i).data();
    float* sum = to.row(places[i]).data();
    for (std::size_t c = 0; c < to.cols; ++c) {
      sum[c] += row[c];
    }
  }
}

ChunkPlaces places_of(const TripleLossWork& work, std::size_t chunk) {
  const std::size_t first = chunk * work.options.chunk;
  const auto count = std::min<std::size_t>(work.options.chunk, work.known.size() - first);
  const std::size_t negatives = work.options.negatives;
  return {.known = work.known.subspan(first, count),
          .relation = work.relation.subspan(first, count),
          .answer = work.answer.subspan(first, count),
          .negative = work.candidates.subspan(chunk * negatives, negatives)};
}

}  // namespace

void gather_rows(ConstMatrix from, std::span<const std::uint32_t> places, Matrix& to) {
  if (to.rows() != places.size() || to.cols() != from.cols) {
    to = Matrix(places.size(), from.cols);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::ranges::copy(from.row(places[i]), to.view().row(i).begin());
  }
}

double TripleChunk::run(const TripleLossWork& work, std::size_t chunk, Precision precision) {
  const auto& score = work.options.score;
  scorer_.set_score(score);
  scorer_.set_precision(precision);
  places_ = places_of(work, chunk);
  gather_rows(work.entities, places_.known, rows_[0]);
  gather_rows(work.relations, places_.relation, rows_[1]);
  gather_rows(work.entities, places_.answer, rows_[2]);
  gather_rows(work.entities, places_.negative, rows_[3]);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    shape_as(rows_[i], grads_[i]);
  }
  const ChunkRows rows{std::as_const(rows_[0]).view(), std::as_const(rows_[1]).view(),
                       std::as_const(rows_[2]).view(), std::as_const(rows_[3]).view()};
  const auto scores = scorer_.forward(work.replaced, rows);
  const auto positive = positive_.get(scores.positive.size());
  const auto negative = negative_.matrix(scores.negative.rows, scores.negative.cols);
  const LinkGradients to{positive, negative};
  const auto loss =
      work.loss.rule == TripleRule::softmax
          ? chunk_softmax(scores, to)
          : chunk_self_adversarial(scores, work.loss.margin, work.loss.temperature, to, scratch_);
  scorer_.backward(rows, {positive, negative},
                   {grads_[0].view(), grads_[1].view(), grads_[2].view(), grads_[3].view()});
  for (std::size_t i = 0; i < 3; ++i) {
    const bool of_relations = i == 1;
    regularize(work.options.regularization,
               score.complex_rows() && !(of_relations && score.kind == ScoreKind::rotate),
               work.options.factor, std::as_const(rows_[i]).view(), grads_[i].view());
  }
  return loss.sum;
}

void TripleChunk::add(MutMatrix entities, MutMatrix relations) const {
  add_at_places(grads_[0], places_.known, entities);
  add_at_places(grads_[1], places_.relation, relations);
  add_at_places(grads_[2], places_.answer, entities);
  add_at_places(grads_[3], places_.negative, entities);
}

}  // namespace troupe::nn
