#pragma once
/// \file chunk_scorer.hpp
/// Scores of a chunk of triples and of the negative candidates that the chunk shares, with
/// gradients. A step's chunks are independent; each is computed on the calling thread in an order
/// that depends on its shapes alone, so spreading chunks over threads does not change a bit.
#include "runtime/base/matrix.hpp"
#include "runtime/nn/knowledge/pair_scores.hpp"
#include "runtime/nn/knowledge/triple_score.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/link_loss.hpp"

#include <span>

namespace troupe::nn {

/// Rows of a chunk: n triples, of which candidates replace one end, and m candidates.
struct ChunkRows {
  ConstMatrix known;     ///< [n, cols]: ends that stay; heads where tails are replaced
  ConstMatrix relation;  ///< [n, relation columns]
  ConstMatrix answer;    ///< [n, cols]: the true other ends
  ConstMatrix negative;  ///< [m, cols]: entities that each triple of the chunk is compared with
};

/// Gradients by these rows, all overwritten. Rows of an entity that occurs several times have a
/// gradient each.
struct ChunkGradients {
  MutMatrix known;
  MutMatrix relation;
  MutMatrix answer;
  MutMatrix negative;
};

/// Lifecycle:  forward(), then backward() of the same rows; again for the next chunk
/// Threads:    one at a time
/// Owns:       scores, until the next forward(), and scratch memory
class ChunkScorer {
 public:
  explicit ChunkScorer(const TripleScore& score = {}) : score_(score) {}

  void set_score(const TripleScore& score) { score_ = score; }
  /// Of products from here on.
  void set_precision(Precision precision) { pairs_.set_precision(precision); }

  /// \returns positive [n] and negative [n, m]
  LinkScores forward(ReplacedEnd replaced, const ChunkRows& rows);
  /// \param grad  of the scores that forward() returned
  void backward(const ChunkRows& rows, const LinkScores& grad, const ChunkGradients& out);

 private:
  /// Entities as they are compared: the rows, or these divided by their length.
  struct Entities {
    GrowBuffer<float> rows{};
    GrowBuffer<float> lengths{};
    ConstMatrix used{};
    std::span<float> length{};
  };
  void take(Entities& entities, ConstMatrix rows) const;
  void turn_back(const Entities& entities, MutMatrix grad) const;

  TripleScore score_;
  ReplacedEnd replaced_ = ReplacedEnd::tail;
  Entities known_;
  Entities answer_;
  Entities negative_;
  GrowBuffer<float> factor_memory_;
  GrowBuffer<float> query_memory_;
  GrowBuffer<float> positive_memory_;
  GrowBuffer<float> negative_memory_;
  GrowBuffer<float> grad_memory_;
  MutMatrix factors_;
  MutMatrix queries_;
  LinkScores scores_;
  AllPairs pairs_;
};

}  // namespace troupe::nn
