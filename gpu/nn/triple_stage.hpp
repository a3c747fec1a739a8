#pragma once
/// \file triple_stage.hpp
/// The loss of a batch's triples on a stream: chunk after chunk as the CPU computes them
/// (runtime/nn/knowledge/triple_chunks.hpp), gathers, lengths and sums by row over all chunks together.
#include "gpu/base/array.hpp"
#include "gpu/nn/comparison_bodies.hpp"
#include "gpu/nn/finish_stage.hpp"
#include "gpu/nn/learning_bodies.hpp"
#include "gpu/nn/pair_score_stage.hpp"
#include "gpu/nn/triple_bodies.hpp"
#include "gpu/nn/triple_loss_bodies.hpp"
#include "runtime/nn/knowledge/triple_loss.hpp"
#include "runtime/nn/ops/finish.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::gpu {

/// \tparam Products  as DeviceBlockOps has them
template <class Stream, class Products>
class TripleStage {
 public:
  TripleStage(Stream& on, Products& products, const nn::TripleLossWork& work)
      : on_(on), products_(products), work_(work) {}

  void run() {
    gather();
    const std::size_t triples = work_.known.size();
    const auto terms = on_.template array<double>(triples);
    const auto sums = on_.template array<double>(chunks());
    for (std::size_t c = 0; c < chunks(); ++c) {
      const std::size_t first = c * work_.options.chunk;
      chunk(c, terms.data() + first);
      on_.for_each(1, SumInOrder{terms.data() + first, triples_of(c), sums.data() + c});
    }
    on_.for_each(1, SumInOrder{sums.data(), chunks(), work_.sum});
    turn_back();
    add_by_row(places_, entity_grads_, work_.grad_entities);
    add_by_row({work_.relation.data(), work_.relation.size()}, relation_grads_,
               work_.grad_relations);
  }

 private:
  const nn::TripleScore& score() const { return work_.options.score; }
  std::size_t cols() const { return work_.entities.cols; }
  std::size_t candidates() const { return work_.options.negatives; }
  std::size_t chunks() const { return work_.chunks(); }
  std::size_t triples_of(std::size_t c) const {
    const std::size_t first = c * work_.options.chunk;
    return std::min<std::size_t>(work_.options.chunk, work_.known.size() - first);
  }
  /// Where a chunk's known ends lie among the rows of entities; its answers and candidates follow.
  std::size_t first_row(std::size_t c) const {
    return c * (2 * work_.options.chunk + candidates());
  }
  MutMatrix rows_of(const Array<float>& all, std::size_t first, std::size_t count) const {
    return {all.data() + first * cols(), count, cols()};
  }
  /// Numbers of complex rows, else columns.
  std::size_t across() const { return score().complex_rows() ? cols() / 2 : cols(); }

  /// Rows of all chunks: known ends, answers and candidates of each, and each triple's relation.
  void gather() {
    const std::size_t triples = work_.known.size();
    rows_ = 2 * triples + work_.candidates.size();
    order_ = on_.template array<std::uint32_t>(rows_);
    for (std::size_t c = 0; c < chunks(); ++c) {
      const std::size_t first = c * work_.options.chunk;
      const std::size_t n = triples_of(c);
      std::uint32_t* const to = order_.data() + first_row(c);
      const auto put = [&](const std::uint32_t* from, std::uint32_t* at, std::size_t count) {
        on_.copy(from, at, count * sizeof(std::uint32_t));
      };
      put(work_.known.data() + first, to, n);
      put(work_.answer.data() + first, to + n, n);
      put(work_.candidates.data() + c * candidates(), to + 2 * n, candidates());
    }
    places_ = {order_.data(), rows_};
    raw_ = on_.template array<float>(rows_ * cols());
    on_.for_rows(rows_, cols(),
                 GatherPlaces{order_.data(), work_.entities.data, cols(), raw_.data()});
    const std::size_t relation_cols = work_.relations.cols;
    relations_ = on_.template array<float>(triples * relation_cols);
    on_.for_rows(triples, relation_cols,
                 GatherPlaces{work_.relation.data(), work_.relations.data, relation_cols,
                              relations_.data()});
    entity_grads_ = on_.template array<float>(rows_ * cols());
    relation_grads_ = on_.template array<float>(triples * relation_cols);
    used_ = raw_;
    if (score().unit) {
      used_ = on_.template array<float>(rows_ * cols());
      on_.copy(raw_.data(), used_.data(), raw_.size_bytes());
      unit_rows();
    }
    factors_ = relations_;
    if (score().kind == nn::ScoreKind::rotate) {
      factors_ = on_.template array<float>(triples * cols());
      on_.for_rows(triples, relation_cols,
                   AngleFactors{relations_.data(), relation_cols, factors_.data()});
    }
  }

  void unit_rows() {
    lengths_ = on_.template array<float>(rows_);
    const MutMatrix used = rows_of(used_, 0, rows_);
    if (score().norm == 2) {
      divide_by_length_stage(on_, used, {lengths_.data(), rows_});
      return;
    }
    on_.for_each(rows_, AbsoluteLength{used.data, cols(), lengths_.data()});
    on_.for_rows(rows_, cols(), DivideByLength<1>{cols(), lengths_.data(), used.data});
  }

  /// Gradients of the rows that were gathered, with what pulls them towards 0.
  void turn_back() {
    const MutMatrix grads = rows_of(entity_grads_, 0, rows_);
    if (score().unit) {
      const auto along = on_.template array<float>(rows_);
      if (score().norm == 2) {
        const auto lanes =
            row_lanes(on_, AlongRow{used_.data(), grads.data, cols()}, rows_, cols());
        on_.for_each(rows_, AddLanes{lanes.data(), along.data()});
        on_.for_rows(
            rows_, cols(),
            L2Backward<1>{used_.data(), lengths_.data(), along.data(), cols(), grads.data});
      } else {
        on_.for_each(rows_, AlongInOrder{used_.data(), grads.data, cols(), along.data()});
        on_.for_rows(
            rows_, cols(),
            AbsoluteBackward{used_.data(), lengths_.data(), along.data(), cols(), grads.data});
      }
    }
    for (std::size_t c = 0; c < chunks(); ++c) {
      regularize(rows_of(raw_, first_row(c), 2 * triples_of(c)),
                 rows_of(entity_grads_, first_row(c), 2 * triples_of(c)), score().complex_rows());
    }
    const std::size_t triples = work_.known.size();
    regularize({relations_.data(), triples, work_.relations.cols},
               {relation_grads_.data(), triples, work_.relations.cols},
               score().kind == nn::ScoreKind::complex);
  }
  void regularize(ConstMatrix rows, MutMatrix grads, bool complex_rows) {
    const auto kind = work_.options.regularization;
    if (kind == nn::Regularization::none) {
      return;
    }
    const bool moduli = complex_rows && kind == nn::Regularization::n3;
    on_.for_rows(rows.rows, moduli ? rows.cols / 2 : rows.cols,
                 Regularize{kind, moduli, work_.options.factor, rows.data, rows.cols, grads.data});
  }

  /// The gradients of a row's places, in their order.
  void add_by_row(std::span<const std::uint32_t> places, const Array<float>& grads, MutMatrix to) {
    const ListsByRow lists = lists_by_row(on_, places, to.rows);
    on_.for_rows(
        to.rows, to.cols,
        SumOfSeeds{lists.begins.data(), lists.list.data(), grads.data(), to.cols, to.data});
  }

  void chunk(std::size_t c, double* terms) {
    const std::size_t n = triples_of(c);
    const std::size_t m = candidates();
    const std::size_t row = first_row(c);
    const std::size_t first = c * work_.options.chunk;
    const MutMatrix known = rows_of(used_, row, n);
    const MutMatrix answers = rows_of(used_, row + n, n);
    const MutMatrix others = rows_of(used_, row + 2 * n, m);
    const auto made = on_.template array<float>(n * cols());
    const MutMatrix queries{made.data(), n, cols()};
    const QueryRows of{score().kind, work_.replaced == ReplacedEnd::tail ? 1.0F : -1.0F, cols(),
                       known.data, factors_.data() + first * cols()};
    on_.for_rows(n, across(), PutQuery{of, queries.data});

    const auto values = on_.template array<float>(2 * n * (1 + m));
    const MutMatrix scores{values.data() + n, n, m};
    float* const grad_positive = values.data() + n * (1 + m);
    const MutMatrix grads{grad_positive + n, n, m};
    const Compared in_pairs{score().comparison(), queries.data, answers.data, cols()};
    on_.for_each(n, ScoreInPairs{in_pairs, values.data()});
    const Compared all{score().comparison(), queries.data, others.data, cols()};
    forward(all, queries, others, scores);
    loss({values.data(), scores.data, m, grad_positive, grads.data}, n, terms);

    const MutMatrix to_known = rows_of(entity_grads_, row, n);
    const MutMatrix to_answers = rows_of(entity_grads_, row + n, n);
    const MutMatrix to_others = rows_of(entity_grads_, row + 2 * n, m);
    const auto made_grads = on_.template array<float>(n * cols());
    const MutMatrix to_queries{made_grads.data(), n, cols()};
    backward(all, {queries, others, scores, grads}, to_queries, to_others);
    on_.zero(to_answers.data, to_answers.size() * sizeof(float));
    on_.for_rows(
        n, steps(),
        InPairsBackward{in_pairs, values.data(), grad_positive, to_queries.data, to_answers.data});
    on_.for_rows(n, across(),
                 QueryBackward{of, to_queries.data, to_known.data,
                               relation_grads_.data() + first * work_.relations.cols});
  }

  /// Numbers of moduli, else columns.
  std::size_t steps() const {
    return score().comparison() == nn::Comparison::moduli ? cols() / 2 : cols();
  }

  void forward(const Compared& of, ConstMatrix queries, ConstMatrix others, MutMatrix scores) {
    if (of.comparison == nn::Comparison::distance_1 || of.comparison == nn::Comparison::moduli) {
      on_.for_rows(scores.rows, scores.cols, DistanceOfAll{of, scores.cols, scores.data});
      return;
    }
    if (scores.size() > 0) {
      products_.forward(on_, queries, others, scores, false);
    }
    if (of.comparison == nn::Comparison::distance_2) {
      const auto squares = squares_of(queries, others);
      on_.for_rows(scores.rows, scores.cols,
                   EuclideanScore{of, squares.data(), squares.data() + queries.rows, scores.cols,
                                  scores.data});
    }
  }
  Array<float> squares_of(ConstMatrix queries, ConstMatrix others) {
    auto squares = on_.template array<float>(queries.rows + others.rows);
    on_.for_each(queries.rows, SquareOfRow{queries.data, queries.cols, squares.data()});
    on_.for_each(others.rows, SquareOfRow{others.data, others.cols, squares.data() + queries.rows});
    return squares;
  }

  /// Of all queries against all candidates.
  struct Scored {
    ConstMatrix queries;
    ConstMatrix others;
    ConstMatrix scores;
    ConstMatrix grads;
  };
  void backward(const Compared& of, const Scored& at, MutMatrix to_queries, MutMatrix to_others) {
    if (of.comparison == nn::Comparison::product && at.grads.size() > 0) {
      return product_backward(at, at.grads, to_queries, to_others);
    }
    if (of.comparison == nn::Comparison::distance_2 && at.grads.size() > 0) {
      return euclidean_backward(of, at, to_queries, to_others);
    }
    on_.zero(to_queries.data, to_queries.size() * sizeof(float));
    on_.zero(to_others.data, to_others.size() * sizeof(float));
    add_pairs(of, at, nullptr, to_queries, to_others);
  }
  void add_pairs(const Compared& of, const Scored& at, const std::uint8_t* some,
                 MutMatrix to_queries, MutMatrix to_others) {
    const AllPairsBackward each{
        of,   at.queries.rows, at.others.rows, at.scores.data, at.grads.data, some,
        true, to_queries.data};
    on_.for_rows(at.queries.rows, steps(), each);
    AllPairsBackward other = each;
    other.to_queries = false;
    other.out = to_others.data;
    on_.for_rows(at.others.rows, steps(), other);
  }
  void product_backward(const Scored& at, ConstMatrix grads, MutMatrix to_queries,
                        MutMatrix to_others) {
    products_.backward(on_, grads, at.others, to_queries, false);
    products_.weight_gradient(on_, grads, at.queries, to_others);
  }
  void euclidean_backward(const Compared& of, const Scored& at, MutMatrix to_queries,
                          MutMatrix to_others) {
    const std::size_t n = at.queries.rows;
    const std::size_t m = at.others.rows;
    const auto squares = squares_of(at.queries, at.others);
    const auto shares = on_.template array<float>(n * m);
    const auto near = on_.template array<std::uint8_t>(n * m);
    on_.for_rows(n, m,
                 EuclideanShare{squares.data(), squares.data() + n, m, at.scores.data,
                                at.grads.data, shares.data(), near.data()});
    product_backward(at, {shares.data(), n, m}, to_queries, to_others);
    const auto sums = on_.template array<float>(n + m);
    on_.for_each(n, SumOfRow{shares.data(), m, sums.data()});
    on_.for_rows(1, m, ColumnSums{shares.data(), n, m, n, m, sums.data() + n});
    on_.for_rows(n, cols(), TakeScaled{at.queries.data, sums.data(), cols(), to_queries.data});
    on_.for_rows(m, cols(), TakeScaled{at.others.data, sums.data() + n, cols(), to_others.data});
    add_pairs(of, at, near.data(), to_queries, to_others);
  }

  void loss(const ScoredTriples& of, std::size_t n, double* terms) {
    const auto numbers = on_.template array<float>(2 * n);
    float* const highest = numbers.data();
    float* const sums = numbers.data() + n;
    const bool softmax = work_.loss.rule == nn::TripleRule::softmax;
    on_.for_each(n, HighestScore{of, softmax, highest});
    if (softmax) {
      on_.for_rows(n, of.count, ExponentialOfScore{of, highest, 1.0F, of.grad_negative});
      on_.for_each(n, SoftmaxOfTriple{of, highest, sums, terms});
      on_.for_rows(n, of.count, ShareOfSum{of, sums});
      return;
    }
    const auto shares = on_.template array<float>(n * of.count);
    on_.for_rows(
        n, of.count,
        ExponentialOfScore{of, highest, static_cast<float>(work_.loss.temperature), shares.data()});
    on_.for_each(n, SumOfRow{shares.data(), of.count, sums});
    on_.for_rows(n, of.count,
                 CandidateLoss{of, static_cast<float>(work_.loss.margin), sums, shares.data()});
    on_.for_each(n, AdversarialTriple{of, work_.loss.margin, shares.data(), terms});
  }

  Stream& on_;
  Products& products_;
  const nn::TripleLossWork& work_;
  std::size_t rows_ = 0;  ///< of entities, of all chunks
  Array<std::uint32_t> order_;
  std::span<const std::uint32_t> places_;
  Array<float> raw_;        ///< [rows_, cols]
  Array<float> used_;       ///< the same, divided by their lengths where the score asks for it
  Array<float> lengths_;    ///< [rows_]
  Array<float> relations_;  ///< [triples, relation columns]
  Array<float> factors_;    ///< [triples, cols]
  Array<float> entity_grads_;
  Array<float> relation_grads_;
};

}  // namespace troupe::gpu
