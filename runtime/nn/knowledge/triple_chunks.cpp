#include "runtime/nn/knowledge/triple_chunks.hpp"

#include <algorithm>

namespace troupe::nn {

void TripleChunks::run(Executor& executor, const TripleLossWork& work, Precision precision) {
  const std::size_t count = work.chunks();
  while (chunks_.size() < count) {
    chunks_.push_back(std::make_unique<TripleChunk>());
  }
  std::vector<double> sums(count);
  executor.parallel_for(count,
                        [&](std::size_t c) { sums[c] = chunks_[c]->run(work, c, precision); });
  std::ranges::fill(work.grad_entities.flat(), 0.0F);
  std::ranges::fill(work.grad_relations.flat(), 0.0F);
  *work.sum = 0;
  for (std::size_t c = 0; c < count; ++c) {
    chunks_[c]->add(work.grad_entities, work.grad_relations);
    *work.sum += sums[c];
  }
}

}  // namespace troupe::nn
