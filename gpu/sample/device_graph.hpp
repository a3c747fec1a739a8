#pragma once
/// \file device_graph.hpp
/// A graph's neighbor lists in a device's memory.
#include "gpu/base/array.hpp"
#include "gpu/sample/graph_arrays.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace troupe::gpu {

struct DeviceNodes {
  std::uint64_t count = 0;
  std::uint8_t id_bytes = 4;  ///< In lists: 4 or 8
  Array<std::uint64_t> original_ids;
};

/// Lists of one edge type. Arrays that sampling does not read are empty.
struct DeviceLists {
  NodeTypeId destination_type{};
  NodeTypeId source_type{};
  EdgeData data{};
  std::uint64_t entries = 0;  ///< Of all lists
  bool present = false;
  bool zero_weights = false;
  Array<std::uint64_t> offsets;
  Array<std::byte> neighbours;  ///< Of DeviceNodes::id_bytes each
  Array<std::uint64_t> edge_ids;
  Array<float> weights;
  Array<std::int64_t> times;
  Array<AliasSlot> aliases;
};

/// Threads: immutable after the upload
struct DeviceGraph {
  std::vector<DeviceNodes> nodes;  ///< By NodeTypeId
  std::vector<DeviceLists> edges;  ///< By EdgeTypeId
  std::uint64_t bytes = 0;         ///< On the device
};

/// An array with values of the host, which must stay as they are until the work is done.
template <class T, class Stream>
Array<T> uploaded_array(Stream& on, std::span<const T> values) {
  return values.empty() ? on.template array<T>(0) : on.uploaded(values);
}

/// Copies arrays to a device. Waits.
/// \param on  a stream (gpu/base)
/// \errors those of the stream
template <class Stream>
Result<DeviceGraph> upload_graph(Stream& on, const GraphArrays& arrays) {
  DeviceGraph graph;
  graph.bytes = arrays.bytes();
  for (const auto& nodes : arrays.nodes) {
    graph.nodes.push_back({nodes.count, nodes.id_bytes, uploaded_array(on, nodes.original_ids)});
  }
  for (const auto& from : arrays.lists) {
    auto& to = graph.edges.emplace_back();
    const auto& lists = from.lists;
    to.destination_type = from.destination_type;
    to.source_type = from.source_type;
    to.data = from.data;
    to.entries = lists.neighbours.size();
    to.present = lists.present();
    to.zero_weights = lists.zero_weights;
    to.offsets = uploaded_array(on, lists.offsets);
    lists.neighbours.visit(
        [&](auto ids) { to.neighbours = uploaded_array(on, std::as_bytes(ids)); });
    to.edge_ids = uploaded_array(on, lists.edge_ids);
    to.weights = uploaded_array(on, lists.weights);
    to.times = uploaded_array(on, lists.times);
    to.aliases = uploaded_array(on, lists.aliases);
  }
  TROUPE_RETURN_IF_ERROR(on.finish());
  return Result<DeviceGraph>(std::move(graph));
}

}  // namespace troupe::gpu
