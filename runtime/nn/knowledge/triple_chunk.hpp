#pragma once
/// \file triple_chunk.hpp
/// One chunk of a batch's triples on one thread: scores, loss, gradients of its rows.
#include "runtime/nn/knowledge/chunk_scorer.hpp"
#include "runtime/nn/knowledge/triple_loss.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"

#include <cstddef>
#include <span>

namespace troupe::nn {

/// Lifecycle: run(), then gradients of its rows; again
/// Threads:   one at a time, chunks at once; gradients of rows on any threads at once
/// Borrows:   from run() to the last gradient the work
class TripleChunk {
 public:
  /// \param chunk    its number
  /// \param factors  relation_factors() of all relations that triples name; no rows: of no use
  /// \param precision  of products
  /// \returns sum of the losses over its triples, without the regularization
  double run(const TripleLossWork& work, std::size_t chunk, ConstMatrix factors = {},
             Precision precision = Precision::float32);

  // Gradients of the last run() with the regularization: in `scratch`, or where they are anyway.
  /// Entity `i` of those that the chunk reads: known ends, answers, candidates.
  /// \param scratch  [columns]
  std::span<const float> entity_gradient(std::size_t i, std::span<float> scratch) const;
  /// Of triple `i`. \param scratch  [columns of relations]
  std::span<const float> relation_gradient(std::size_t i, std::span<float> scratch) const;

 private:
  void pull_to_zero(const PlacedRows& rows, bool complex_rows, std::size_t i,
                    std::span<float> grad) const;

  KnowledgeOptions options_;
  ChunkScorer scorer_;
  GrowBuffer<float> positive_;
  GrowBuffer<float> negative_;
  GrowBuffer<float> scratch_;
};

}  // namespace troupe::nn
