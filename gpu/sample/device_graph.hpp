#pragma once
/// \file device_graph.hpp
/// A graph's neighbor lists where a device reads them.
#include "gpu/base/array.hpp"
#include "gpu/base/upload.hpp"
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

/// Copies arrays to a device. Waits.
/// \param on      a stream (gpu/base)
/// \param beside  the same arrays of another device of the process, or null: lists in pinned memory are
///   shared with it
/// \errors those of the stream
template <class Stream>
Result<DeviceGraph> upload_graph(Stream& on, const GraphArrays& arrays,
                                 Topology topology = Topology::device,
                                 const DeviceGraph* beside = nullptr) {
  DeviceGraph graph;
  for (const auto& nodes : arrays.nodes) {
    graph.nodes.push_back({nodes.count, nodes.id_bytes, uploaded_array(on, nodes.original_ids)});
    graph.bytes += nodes.original_ids.size_bytes();
  }
  const bool pinned = topology == Topology::pinned;
  auto& lists_bytes = pinned ? graph.pinned_bytes : graph.bytes;
  const auto place = [&]<class T>(std::span<const T> values, Array<T> DeviceLists::*array) {
    lists_bytes += values.size_bytes();
    auto& to = graph.edges.back().*array;
    if (pinned && beside != nullptr) {
      to = beside->edges[graph.edges.size() - 1].*array;
    } else {
      to = pinned ? pinned_array(on, values) : uploaded_array(on, values);
    }
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
    place(lists.offsets, &DeviceLists::offsets);
    lists.neighbours.visit([&](auto ids) { place(std::as_bytes(ids), &DeviceLists::neighbours); });
    place(lists.edge_ids, &DeviceLists::edge_ids);
    place(lists.weights, &DeviceLists::weights);
    place(lists.times, &DeviceLists::times);
    place(lists.aliases, &DeviceLists::aliases);
  }
  TROUPE_RETURN_IF_ERROR(on.finish());
  return Result<DeviceGraph>(std::move(graph));
}

}  // namespace troupe::gpu
