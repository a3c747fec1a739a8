#include "runtime/feature/batch.hpp"

#include "runtime/graph/edge_data.hpp"

#include <algorithm>
#include <type_traits>

namespace troupe {

namespace {

const BatchColumn* find_in(const Batch& batch, bool of_edges, std::uint16_t type,
                           std::string_view name) {
  const auto found = std::ranges::find_if(batch.columns, [&](const BatchColumn& column) {
    return column.of_edges == of_edges && column.type == type && column.info.name == name;
  });
  return found == batch.columns.end() ? nullptr : &*found;
}

}  // namespace

const BatchColumn* find_column(const Batch& batch, NodeTypeId type, std::string_view name) {
  return find_in(batch, false, raw(type), name);
}
const BatchColumn* find_column(const Batch& batch, EdgeTypeId type, std::string_view name) {
  return find_in(batch, true, raw(type), name);
}

std::uint64_t size_bytes(const Batch& batch) {
  const auto bytes = [](const auto& values) -> std::uint64_t {
    return values.size() * sizeof(typename std::decay_t<decltype(values)>::value_type);
  };
  std::uint64_t sum = bytes(batch.labels) + batch.targets.view().flat().size_bytes();
  for (const auto& rows : batch.rows) {
    sum += rows.features.view().flat().size_bytes() + bytes(rows.original_ids);
  }
  for (const auto& rows : batch.edge_features) {
    sum += rows.view().flat().size_bytes();
  }
  if (batch.on_device) {
    for (const ConstMatrix& rows : batch.on_device->features) {
      sum += rows.size() * sizeof(float);
    }
  }
  for (const auto& column : batch.columns) {
    sum += column.values.bytes.size();
  }
  sum += bytes(batch.sampled->seed_index);
  for (const auto& nodes : batch.sampled->nodes) {
    sum += bytes(nodes.ids);
  }
  for (const auto& edges : batch.sampled->edges) {
    sum += bytes(edges.offsets) + bytes(edges.sources);
    each_edge_datum([&](const auto& values) { sum += bytes(values); }, edges);
  }
  if (batch.sampled->walks) {
    sum += bytes(batch.sampled->walks->nodes) + bytes(batch.sampled->walks->restarts);
  }
  return sum;
}

}  // namespace troupe
