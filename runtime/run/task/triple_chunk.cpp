#include "runtime/run/task/triple_chunk.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

/// Its values are written anew.
void shape_as(const Matrix& like, Matrix& to) {
  if (to.rows() != like.rows() || to.cols() != like.cols()) {
    to = Matrix(like.rows(), like.cols());
  }
}

void add_rows(const Matrix& from, std::span<const std::uint32_t> places, MutMatrix to) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const float* row = from.view().row(i).data();
    float* sum = to.row(places[i]).data();
    for (std::size_t c = 0; c < to.cols; ++c) {
      sum[c] += row[c];
    }
  }
}

}  // namespace

ChunkPlaces places_of_chunk(const SampledBatch& sampled, ReplacedEnd replaced, std::uint64_t first,
                            std::uint64_t count, std::span<const std::uint32_t> negatives) {
  const auto& links = *sampled.links;
  const bool tail = replaced == ReplacedEnd::tail;
  const auto heads = std::span(links.sources).subspan(first, count);
  const auto tails = std::span(links.destinations).subspan(first, count);
  const auto known = tail ? heads : tails;
  const auto answer = tail ? tails : heads;
  ChunkPlaces places;
  places.known.assign(known.begin(), known.end());
  places.answer.assign(answer.begin(), answer.end());
  for (const float relation : std::span(links.labels).subspan(first, count)) {
    places.relation.push_back(static_cast<std::uint32_t>(relation));
  }
  places.negative.assign(negatives.begin(), negatives.end());
  return places;
}

void gather_rows(ConstMatrix from, std::span<const std::uint32_t> places, Matrix& to) {
  if (to.rows() != places.size() || to.cols() != from.cols) {
    to = Matrix(places.size(), from.cols);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::ranges::copy(from.row(places[i]), to.view().row(i).begin());
  }
}

TripleChunk::TripleChunk(const nn::KnowledgeOptions& knowledge, const TaskOptions& task)
    : softmax_(task.loss == "softmax"),
      margin_(task.link_loss.margin),
      temperature_(task.link_loss.temperature),
      options_(knowledge),
      scorer_(knowledge.score) {}

nn::LossResult TripleChunk::run(ReplacedEnd replaced, ChunkPlaces places, ConstMatrix entities,
                                ConstMatrix relations) {
  places_ = std::move(places);
  gather_rows(entities, places_.known, rows_[0]);
  gather_rows(relations, places_.relation, rows_[1]);
  gather_rows(entities, places_.answer, rows_[2]);
  gather_rows(entities, places_.negative, rows_[3]);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    shape_as(rows_[i], grads_[i]);
  }
  const nn::ChunkRows rows{std::as_const(rows_[0]).view(), std::as_const(rows_[1]).view(),
                           std::as_const(rows_[2]).view(), std::as_const(rows_[3]).view()};
  const auto scores = scorer_.forward(replaced, rows);
  const auto positive = positive_.get(scores.positive.size());
  const auto negative = negative_.matrix(scores.negative.rows, scores.negative.cols);
  const nn::LinkGradients to{positive, negative};
  const auto loss = softmax_
                        ? nn::chunk_softmax(scores, to)
                        : nn::chunk_self_adversarial(scores, margin_, temperature_, to, scratch_);
  scorer_.backward(rows, {positive, negative},
                   {grads_[0].view(), grads_[1].view(), grads_[2].view(), grads_[3].view()});
  for (std::size_t i = 0; i < 3; ++i) {
    const bool of_relations = i == 1;
    nn::regularize(options_.regularization,
                   options_.score.complex_rows() &&
                       !(of_relations && options_.score.kind == nn::ScoreKind::rotate),
                   options_.factor, std::as_const(rows_[i]).view(), grads_[i].view());
  }
  return loss;
}

void TripleChunk::add(MutMatrix entities, MutMatrix relations) const {
  add_rows(grads_[0], places_.known, entities);
  add_rows(grads_[1], places_.relation, relations);
  add_rows(grads_[2], places_.answer, entities);
  add_rows(grads_[3], places_.negative, entities);
}

}  // namespace troupe
