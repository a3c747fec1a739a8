#pragma once
/// \file triple_chunk.hpp
/// One chunk of a batch's triples on one thread: scores, loss, gradients of its rows; for knowledge tasks.
#include "runtime/nn/knowledge/chunk_scorer.hpp"
#include "runtime/nn/knowledge/knowledge_options.hpp"
#include "runtime/run/task/task.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Rows of a chunk by their places: of entities among a batch's nodes, of relations by number.
struct ChunkPlaces {
  std::vector<std::uint32_t> known;
  std::vector<std::uint32_t> relation;
  std::vector<std::uint32_t> answer;
  std::vector<std::uint32_t> negative;
};

/// Triples [first, first + count) of a batch and the candidates of their chunk.
/// \param negatives  of each chunk; 0: none are taken
ChunkPlaces places_of_chunk(const SampledBatch& sampled, ReplacedEnd replaced, std::uint64_t first,
                            std::uint64_t count, std::span<const std::uint32_t> negatives);

void gather_rows(ConstMatrix from, std::span<const std::uint32_t> places, Matrix& to);

/// Lifecycle: run(), then add(); again. Threads: one at a time; chunks at once
class TripleChunk {
 public:
  TripleChunk(const nn::KnowledgeOptions& knowledge, const TaskOptions& task);

  /// \returns sum of the losses over the triples, without the regularization, and their number
  nn::LossResult run(ReplacedEnd replaced, ChunkPlaces places, ConstMatrix entities,
                     ConstMatrix relations);
  /// Adds the gradients of the last run() row by row: of known ends, relations, answers, candidates.
  void add(MutMatrix entities, MutMatrix relations) const;

 private:
  bool softmax_;
  double margin_;
  double temperature_;
  nn::KnowledgeOptions options_;
  nn::ChunkScorer scorer_;
  ChunkPlaces places_;
  std::array<Matrix, 4> rows_;
  std::array<Matrix, 4> grads_;
  nn::GrowBuffer<float> positive_;
  nn::GrowBuffer<float> negative_;
  nn::GrowBuffer<float> scratch_;
};

}  // namespace troupe
