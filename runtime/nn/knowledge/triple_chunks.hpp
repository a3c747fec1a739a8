#pragma once
/// \file triple_chunks.hpp
/// The loss of a batch's triples on the CPU: chunks at once, their gradients added one after the other.
#include "runtime/base/executor.hpp"
#include "runtime/nn/knowledge/triple_chunk.hpp"
#include "runtime/nn/knowledge/triple_loss.hpp"

#include <memory>
#include <vector>

namespace troupe::nn {

/// Owns:    scratch memory, kept between calls
/// Threads: one caller at a time; the same bits for any executor
class TripleChunks {
 public:
  /// \param precision  of products
  void run(Executor& executor, const TripleLossWork& work,
           Precision precision = Precision::float32);

 private:
  std::vector<std::unique_ptr<TripleChunk>> chunks_;
};

}  // namespace troupe::nn
