#include "runtime/feature/batch.hpp"

#include "runtime/feature/staged_rows.hpp"
#include "runtime/graph/edge_data.hpp"

#include <algorithm>

namespace troupe {

namespace {

const BatchColumn* find_in(const Batch& batch, bool of_edges, std::uint16_t type,
                           std::string_view name) {
  const auto found = std::ranges::find_if(batch.columns, [&](const BatchColumn& column) {
    return column.of_edges == of_edges && column.type == type && column.info.name == name;
  });
  return found == batch.columns.end() ? nullptr : &*found;
}

template <class Values>
std::uint64_t bytes_of(const Values& values) {
  return values.size() * sizeof(typename Values::value_type);
}

}  // namespace

const BatchColumn* find_column(const Batch& batch, NodeTypeId type, std::string_view name) {
  return find_in(batch, false, raw(type), name);
}
const BatchColumn* find_column(const Batch& batch, EdgeTypeId type, std::string_view name) {
  return find_in(batch, true, raw(type), name);
}

std::uint64_t size_bytes(const SampledBatch& batch) {
  std::uint64_t sum = bytes_of(batch.seed_index);
  for (const auto& nodes : batch.nodes) {
    sum += bytes_of(nodes.ids);
  }
  for (const auto& edges : batch.edges) {
    sum += edges.offsets.kept_bytes() + bytes_of(edges.sources);
    each_edge_datum([&](const auto& values) { sum += bytes_of(values); }, edges);
  }
  if (batch.walks) {
    sum += bytes_of(batch.walks->nodes) + bytes_of(batch.walks->restarts);
  }
  return sum;
}

std::uint64_t size_bytes(const Batch& batch) {
  std::uint64_t sum = size_bytes(*batch.sampled) + bytes_of(batch.labels) +
                      batch.targets.view().flat().size_bytes();
  for (const auto& rows : batch.rows) {
    sum += rows.features.view().flat().size_bytes() + bytes_of(rows.original_ids);
  }
  for (const auto& rows : batch.edge_features) {
    sum += rows.view().flat().size_bytes();
  }
  if (batch.on_device) {
    for (const ConstMatrix& rows : batch.on_device->features) {
      sum += rows.size() * sizeof(float);
    }
  }
  sum += batch.staged ? batch.staged->size_bytes : 0;
  for (const auto& column : batch.columns) {
    sum += column.values.bytes.size();
  }
  return sum;
}

}  // namespace troupe
