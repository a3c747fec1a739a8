#include "runtime/run/exact_edge_features.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/nn/ops/linear.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe {

Result<std::vector<Matrix>> edge_features_of_block(Executor& executor, const Part& part,
                                                   std::span<const RowDecoder> decoders,
                                                   std::span<const EdgeTypeId> types,
                                                   const SampledBatch& block) {
  std::vector<Matrix> features(block.edges.size());
  for (const auto type : types) {
    const auto& edges = block.edges[raw(type)];
    const auto& decoder = decoders[raw(type)];
    if (decoder.cols() == 0) {
      continue;
    }
    TROUPE_ASSERT(edges.entries.size() == edges.sources.size(), "entry numbers, edges",
                  edges.entries.size(), edges.sources.size());
    const TableSection section{
        .table = {TableName::Kind::edge_features, static_cast<std::uint16_t>(raw(type))},
        .rows = {edges.entries.begin(), edges.entries.end()},
        .row_bytes = decoder.row_bytes()};
    TROUPE_ASSIGN_OR_RETURN(const auto* const table, find_table(part, section));
    auto& rows = features[raw(type)];
    rows = Matrix(section.rows.size(), decoder.cols());
    nn::for_each_chunk(executor, section.rows.size(), [&](std::size_t first, std::size_t chunk) {
      for (std::size_t i = first; i < first + chunk; ++i) {
        decoder.decode(table->row(section.rows[i]), rows.view().row(i));
      }
    });
  }
  return features;
}

}  // namespace troupe
