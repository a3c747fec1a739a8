#pragma once
/// \file device_graph.hpp
/// A graph's neighbor lists where a device reads them.
#include "gpu/base/array.hpp"
#include "gpu/sample/graph_arrays.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// Where neighbor lists lie.
enum class Topology : std::uint8_t {
  device,  ///< In the device's memory
  pinned,  ///< In memory of the host that the device reads: more of it, over a slower bus
};

/// Threads: immutable after the upload
struct DeviceGraph {
  std::vector<DeviceNodes> nodes;  ///< By NodeTypeId
  std::vector<DeviceLists> edges;  ///< By EdgeTypeId
  std::uint64_t bytes = 0;         ///< On the device
  std::uint64_t pinned_bytes = 0;  ///< In memory of the host
};

/// An array with values of the host, which must stay as they are until the work is done.
template <class T, class Stream>
Array<T> uploaded_array(Stream& on, std::span<const T> values) {
  return values.empty() ? on.template array<T>(0) : on.uploaded(values);
}

/// The same in memory of the host. The values are copied.
template <class T, class Stream>
Array<T> pinned_array(Stream& on, std::span<const T> values) {
  auto result = on.template host_array<T>(values.size());
  if (!values.empty() && !on.failed()) {
    std::memcpy(result.data(), values.data(), values.size_bytes());
  }
  return result;
}

/// Copies arrays to a device. Waits.
/// \param on  a stream (gpu/base)
/// \errors those of the stream
template <class Stream>
Result<DeviceGraph> upload_graph(Stream& on, const GraphArrays& arrays,
                                 Topology topology = Topology::device) {
  DeviceGraph graph;
  for (const auto& nodes : arrays.nodes) {
    graph.nodes.push_back({nodes.count, nodes.id_bytes, uploaded_array(on, nodes.original_ids)});
    graph.bytes += nodes.original_ids.size_bytes();
  }
  auto& lists_bytes = topology == Topology::device ? graph.bytes : graph.pinned_bytes;
  const auto place = [&]<class T>(std::span<const T> values) {
    lists_bytes += values.size_bytes();
    return topology == Topology::device ? uploaded_array(on, values) : pinned_array(on, values);
  };
  for (const auto& from : arrays.lists) {
    auto& to = graph.edges.emplace_back();
    const auto& lists = from.lists;
    to.destination_type = from.destination_type;
    to.source_type = from.source_type;
    to.data = from.data;
    to.entries = lists.neighbours.size();
    to.present = lists.present();
    to.zero_weights = lists.zero_weights;
    to.offsets = place(lists.offsets);
    lists.neighbours.visit([&](auto ids) { to.neighbours = place(std::as_bytes(ids)); });
    to.edge_ids = place(lists.edge_ids);
    to.weights = place(lists.weights);
    to.times = place(lists.times);
    to.aliases = place(lists.aliases);
  }
  TROUPE_RETURN_IF_ERROR(on.finish());
  return Result<DeviceGraph>(std::move(graph));
}

}  // namespace troupe::gpu
