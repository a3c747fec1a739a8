#include "runtime/sample/frontier_counts.hpp"

#include "runtime/sample/batch_builder.hpp"

namespace troupe {

FrontierCounts frontier_of(const SampledBatch& batch, const SampleOptions& options) {
  FrontierCounts counts;
  for (std::uint32_t hop = 0; hop < batch.hops; ++hop) {
    std::vector<std::uint64_t> rows(batch.nodes.size());  // once for all edge types of a node type
    for (std::size_t e = 0; e < batch.edges.size(); ++e) {
      const auto& edges = batch.edges[e];
      if (options.fanout[hop][e] != 0) {
        rows[raw(edges.destination_type)] = edges.row_begin[hop + 1] - edges.row_begin[hop];
      }
    }
    for (const auto of_type : rows) {
      counts.add(hop, of_type, 0);
    }
  }
  return counts;
}

}  // namespace troupe
