#include "runtime/sample/frontier_counts.hpp"

#include "runtime/sample/batch_builder.hpp"

namespace troupe {

FrontierCounts frontier_of(const SampledBatch& batch, const SampleOptions& options) {
  FrontierCounts counts;
  for (std::uint32_t hop = 0; hop < batch.hops; ++hop) {
    for (std::size_t e = 0; e < batch.edges.size(); ++e) {
      const auto& rows = batch.edges[e].row_begin;
      if (options.fanout[hop][e] != 0) {
        counts.add(hop, rows[hop + 1] - rows[hop], 0);
      }
    }
  }
  return counts;
}

}  // namespace troupe
