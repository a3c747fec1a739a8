#pragma once
/// \file device_batch.hpp
/// A sampled mini-batch in a device's memory: the arrays of runtime/sample/mini_batch.hpp.
#include "gpu/base/array.hpp"
#include "gpu/base/host_copies.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::gpu {

struct DeviceBatchNodes {
  Array<std::uint64_t> ids;  ///< Global; may have room for more than there are
  // Of a batch that has no ids: where its rows are (runtime/feature/staged_rows.hpp).
  Array<std::uint64_t> slots = {};
  Array<std::byte> staged = {};        ///< Rows that came with the batch
  std::vector<std::uint32_t> hop_end;  ///< [hops + 1]

  std::uint32_t count() const { return hop_end.empty() ? 0 : hop_end.back(); }
};

struct DeviceBatchEdges {
  NodeTypeId destination_type{};
  NodeTypeId source_type{};
  Array<std::uint32_t> offsets;  ///< [rows + 1]
  Array<std::uint32_t> sources;  ///< [edges]
  // [edges], or empty where not asked for.
  Array<std::uint64_t> edge_ids;
  Array<float> weights;
  Array<std::int64_t> times;
  Array<std::uint64_t> entries;
  std::vector<std::uint32_t> row_begin;  ///< [hops + 1]
};

/// Sizes are known to the host, contents lie on the device.
struct DeviceBatch {
  BatchKey key;
  Frontier frontier = Frontier::fresh;
  NodeTypeId seed_type{};           ///< Of the first seed
  bool mixed_seeds = false;         ///< Seeds are of several types
  Array<std::uint32_t> seed_index;  ///< [seeds]
  std::vector<DeviceBatchNodes> nodes;
  std::vector<DeviceBatchEdges> edges;
  std::uint32_t hops = 0;
};

/// A batch that the host sampled, as far as rows and learners read it. Does not wait.
/// Borrows: `from`, until the work is done
/// \param with_ids  of nodes
template <class Stream>
DeviceBatch upload_batch(Stream& on, const SampledBatch& from, bool with_ids = true) {
  DeviceBatch to;
  to.key = from.key;
  to.frontier = from.frontier;
  to.seed_type = from.seed_type;
  to.mixed_seeds = from.links.has_value();
  to.hops = from.hops;
  const auto put = [&on]<class T, class U>(const PooledVector<U>& list, Array<T>& array) {
    static_assert(sizeof(T) == sizeof(U));
    array = on.template array<T>(list.size());
    if (!list.empty()) {
      on.upload(list.data(), array.data(), list.size() * sizeof(T));
    }
  };
  put(from.seed_index, to.seed_index);
  to.nodes.resize(from.nodes.size());
  for (std::size_t t = 0; t < from.nodes.size(); ++t) {
    if (with_ids) {
      put(from.nodes[t].ids, to.nodes[t].ids);
    }
    to.nodes[t].hop_end.assign(from.nodes[t].hop_end.begin(), from.nodes[t].hop_end.end());
  }
  to.edges.resize(from.edges.size());
  for (std::size_t e = 0; e < from.edges.size(); ++e) {
    const auto& edges = from.edges[e];
    to.edges[e].destination_type = edges.destination_type;
    to.edges[e].source_type = edges.source_type;
    put(edges.offsets.dense(), to.edges[e].offsets);
    put(edges.sources, to.edges[e].sources);
    put(edges.weights, to.edges[e].weights);
    put(edges.entries, to.edges[e].entries);
  }
  return to;
}

/// Makes the host's batch, and calls take(array, size, list) for each of its arrays.
template <class Take>
SampledBatch batch_of_host(const DeviceBatch& from, Take take) {
  SampledBatch to;
  to.key = from.key;
  to.frontier = from.frontier;
  to.seed_type = from.seed_type;
  to.hops = from.hops;
  take(from.seed_index, from.seed_index.size(), to.seed_index);
  to.nodes.resize(from.nodes.size());
  for (std::size_t t = 0; t < from.nodes.size(); ++t) {
    take(from.nodes[t].ids, std::size_t{from.nodes[t].count()}, to.nodes[t].ids);
    to.nodes[t].hop_end = from.nodes[t].hop_end;
  }
  to.edges.resize(from.edges.size());
  for (std::size_t e = 0; e < from.edges.size(); ++e) {
    const auto& edges = from.edges[e];
    to.edges[e].destination_type = edges.destination_type;
    to.edges[e].source_type = edges.source_type;
    to.edges[e].row_begin = edges.row_begin;
    take(edges.offsets, edges.offsets.size(), to.edges[e].offsets.edit());
    take(edges.sources, edges.sources.size(), to.edges[e].sources);
    each_edge_datum([&](const auto& array, auto& list) { take(array, array.size(), list); }, edges,
                    to.edges[e]);
  }
  return to;
}

/// Launches copies of a batch to the host.
/// \param on  a stream (gpu/base) that has waited for the one that made the batch
/// \returns what makes the batch, equal in every array to what runtime/sample makes, once `on` was waited
///   for: to be called at most once, on any thread
template <class Stream>
std::function<SampledBatch()> fetch_batch(Stream& on, PinnedPool& pool, const DeviceBatch& from) {
  const auto copies = std::make_shared<HostCopies>();
  static_cast<void>(batch_of_host(from, [&](const auto& array, std::size_t size, auto& list) {
    static_assert(sizeof(*array.data()) == sizeof(*list.data()));
    copies->add(array, size);
  }));
  copies->start(on, pool);
  return [copies, from] {
    return batch_of_host(from, [&](const auto&, std::size_t, auto& list) { copies->take(list); });
  };
}

}  // namespace troupe::gpu
