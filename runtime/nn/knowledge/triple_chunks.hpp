#pragma once
/// \file triple_chunks.hpp
/// The loss of a batch's triples on the CPU: chunks at once, then the gradients of rows at once.
#include "runtime/base/executor.hpp"
#include "runtime/nn/knowledge/row_touches.hpp"
#include "runtime/nn/knowledge/triple_chunk.hpp"
#include "runtime/nn/knowledge/triple_loss.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe::nn {

/// What is added to a row comes from chunk after chunk, from each of known ends, answers and candidates.
/// Owns:    scratch memory, kept between calls
/// Threads: one caller at a time; the same bits for any executor
class TripleChunks {
 public:
  /// \param precision  of products
  void run(Executor& executor, const TripleLossWork& work,
           Precision precision = Precision::float32);

 private:
  ConstMatrix factors_of(Executor& executor, const TripleLossWork& work);
  void touch_entities(const TripleLossWork& work);
  void sum_rows(Executor& executor, const TripleLossWork& work);

  std::vector<std::unique_ptr<TripleChunk>> chunks_;
  std::vector<std::span<const std::uint32_t>> lists_;
  RowTouches entities_;
  RowTouches relations_;
  GrowBuffer<float> factors_;
};

}  // namespace troupe::nn
