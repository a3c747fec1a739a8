#pragma once
/// \file triple_chunk.hpp
/// One chunk of a batch's triples on one thread: scores, loss, gradients of its rows.
#include "runtime/nn/knowledge/chunk_scorer.hpp"
#include "runtime/nn/knowledge/triple_loss.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::nn {

/// Rows of a chunk by their places: of entities among a batch's nodes, of relations by number.
struct ChunkPlaces {
  std::span<const std::uint32_t> known;
  std::span<const std::uint32_t> relation;
  std::span<const std::uint32_t> answer;
  std::span<const std::uint32_t> negative;
};

/// \param to  gets the shape
void gather_rows(ConstMatrix from, std::span<const std::uint32_t> places, Matrix& to);

/// Lifecycle: run(), then add(); again. Threads: one at a time; chunks at once
/// Borrows:   from run() to the end of add() the places
class TripleChunk {
 public:
  /// \param chunk  its number
  /// \param precision  of products
  /// \returns sum of the losses over its triples, without the regularization
  double run(const TripleLossWork& work, std::size_t chunk,
             Precision precision = Precision::float32);
  /// Adds the gradients of the last run() row by row: of known ends, relations, answers, candidates.
  void add(MutMatrix entities, MutMatrix relations) const;

 private:
  ChunkScorer scorer_;
  ChunkPlaces places_;
  std::array<Matrix, 4> rows_;
  std::array<Matrix, 4> grads_;
  GrowBuffer<float> positive_;
  GrowBuffer<float> negative_;
  GrowBuffer<float> scratch_;
};

}  // namespace troupe::nn
