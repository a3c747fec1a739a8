#pragma once
/// \file hop_plan.hpp
/// What a plan says of one hop along one edge type.
#include "gpu/sample/device_batch.hpp"
#include "gpu/sample/device_graph.hpp"
#include "gpu/sample/hop_bodies.hpp"
#include "runtime/sample/choice/choice.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::gpu {

inline ListRule rule_of(const SamplingPlan& plan, std::size_t type, std::uint32_t hop) {
  const auto fanout = plan.fanout[hop][type];
  return {.fanout = static_cast<std::uint32_t>(std::max(fanout, 0)),
          .all = fanout == all_neighbours,
          .replace = plan.replace};
}

/// Most edges that a hop takes along an edge type; 2^64 - 1: no bound is known.
/// \param rows     at most so many
/// \param entries  of all lists of the type
inline std::uint64_t most_edges(const ListRule& rule, std::uint64_t rows, std::uint64_t entries) {
  const auto by_fanout = rule.all ? ~std::uint64_t{0} : rows * std::uint64_t{rule.fanout};
  const bool entries_repeat = rule.replace && !rule.all;
  return entries_repeat ? by_fanout : std::min(by_fanout, entries);
}

/// The key of a hop's draws along an edge type.
inline StreamKey draws_key(const SamplingPlan& plan, const BatchKey& key, std::size_t type,
                           std::uint32_t hop) {
  return stream_key(plan.job_seed,
                    {.domain = plan.domain,
                     .type = static_cast<std::uint16_t>(type),
                     .hop = plan.shared ? std::uint8_t{0} : static_cast<std::uint8_t>(hop),
                     .epoch = key.stream_epoch(),
                     .batch = key.number});
}

/// A batch that has no arrays yet.
inline DeviceBatch batch_to_be(const DeviceGraph& graph, const SamplingPlan& plan, BatchKey key,
                               std::span<const SeedsOfType> seeds) {
  DeviceBatch batch;
  batch.key = key;
  batch.frontier = plan.frontier;
  batch.seed_type = seeds.front().type;
  for (const auto& group : seeds) {
    batch.mixed_seeds = batch.mixed_seeds || group.type != batch.seed_type;
  }
  batch.hops = static_cast<std::uint32_t>(plan.fanout.size());
  batch.nodes.resize(graph.nodes.size());
  batch.edges.resize(graph.edges.size());
  for (std::size_t type = 0; type < graph.edges.size(); ++type) {
    batch.edges[type].destination_type = graph.edges[type].destination_type;
    batch.edges[type].source_type = graph.edges[type].source_type;
  }
  return batch;
}

}  // namespace troupe::gpu
