#pragma once
/// \file chunk_scorer.hpp
/// Scores of a chunk of triples and of the negative candidates that the chunk shares, with
/// gradients. A step's chunks are independent; each is computed on the calling thread in an order
/// that depends on its shapes alone, so spreading chunks over threads does not change a bit.
#include "runtime/base/matrix.hpp"
#include "runtime/nn/knowledge/pair_scores.hpp"
#include "runtime/nn/knowledge/placed_rows.hpp"
#include "runtime/nn/knowledge/triple_score.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/link_loss.hpp"

#include <cstddef>
#include <span>

namespace troupe::nn {

/// Rows of a chunk: n triples, of which candidates replace one end, and m candidates.
struct ChunkRows {
  PlacedRows known;         ///< [n, cols]: ends that stay; heads where tails are replaced
  PlacedRows relation;      ///< [n, relation columns]
  PlacedRows answer;        ///< [n, cols]: the true other ends
  PlacedRows negative;      ///< [m, cols]: entities that each triple of the chunk is compared with
  PlacedRows factors = {};  ///< [n, cols] relation_factors(), where they are known already
};

/// Gradients by these rows, all overwritten. Rows of an entity that occurs several times have a
/// gradient each.
struct ChunkGradients {
  MutMatrix known;
  MutMatrix relation;
  MutMatrix answer;
  MutMatrix negative;
};

/// Lifecycle:  forward(), then backward(), then the gradients of any of its rows; again for the next
///   chunk
/// Threads:    one at a time; gradients of rows on any threads at once
/// Owns:       scores, until the next forward(), and scratch memory
/// Borrows:    rows and factors from forward() to the last gradient, and the gradient of the scores from
///   backward() on
class ChunkScorer {
 public:
  explicit ChunkScorer(const TripleScore& score = {}) : score_(score) {}

  void set_score(const TripleScore& score) { score_ = score; }
  /// Of products from here on.
  void set_precision(Precision precision) { pairs_.set_precision(precision); }

  /// \returns positive [n] and negative [n, m]
  LinkScores forward(ReplacedEnd replaced, const ChunkRows& rows);
  /// \param grad  of the scores that forward() returned
  void backward(const LinkScores& grad);

  // Gradients of the last backward(), overwritten.
  /// \param out  [cols]
  void known_gradient(std::size_t i, std::span<float> out) const;
  /// \param out  [relation columns]
  void relation_gradient(std::size_t i, std::span<float> out) const;
  /// \param out  [cols]
  void answer_gradient(std::size_t i, std::span<float> out) const;
  /// [m, cols]
  ConstMatrix negative_gradients() const { return grad_negatives_; }
  /// All of them. \requires rows without places
  void gradients(const ChunkGradients& out) const;

  const ChunkRows& rows() const { return rows_; }

 private:
  /// Entities divided by their length, where the score asks for it.
  struct Units {
    GrowBuffer<float> rows{};
    GrowBuffer<float> lengths{};
    std::span<float> length{};
  };
  PlacedRows take(Units& units, const PlacedRows& rows) const;
  ConstMatrix take_negatives(const PlacedRows& rows);
  void turn_back(const PlacedRows& used, const Units& units, std::size_t i,
                 std::span<float> grad) const;

  TripleScore score_;
  ReplacedEnd replaced_ = ReplacedEnd::tail;
  ChunkRows rows_;
  Units known_units_;
  Units answer_units_;
  Units negative_units_;
  // As they are compared.
  PlacedRows known_;
  PlacedRows answer_;
  ConstMatrix negative_;
  PlacedRows factors_;
  GrowBuffer<float> factor_memory_;
  GrowBuffer<float> query_memory_;
  GrowBuffer<float> positive_memory_;
  GrowBuffer<float> negative_memory_;
  GrowBuffer<float> grad_query_memory_;
  GrowBuffer<float> grad_negative_memory_;
  MutMatrix queries_;
  LinkScores scores_;
  std::span<const float> grad_positive_;
  MutMatrix grad_queries_;
  MutMatrix grad_negatives_;
  AllPairs pairs_;
};

}  // namespace troupe::nn
