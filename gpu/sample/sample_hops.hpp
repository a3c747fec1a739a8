#pragma once
/// \file sample_hops.hpp
/// Sampling of batches on a device: one template over its streams (gpu/base). The whole graph lies on
/// the device; batches have the arrays that runtime/sample makes.
#include "gpu/sample/device_batch.hpp"
#include "gpu/sample/device_graph.hpp"
#include "gpu/sample/hop_sampling.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// Threads: one at a time
/// Borrows: `on`
template <class Stream>
class HopSampler {
 public:
  /// \param plan  of the options that `graph` was made with
  HopSampler(Stream& on, std::shared_ptr<const DeviceGraph> graph, SamplingPlan plan)
      : on_(on), graph_(std::move(graph)), plan_(std::move(plan)), expected_(graph_->nodes.size()) {
    for (const auto& nodes : graph_->nodes) {
      counts_.push_back(nodes.count);
    }
  }

  /// The work is launched, and waited for once per hop and once at the end.
  /// \errors those of seeds_for_device(); invalid_argument: too many nodes or edges; those of the
  ///   stream, which is lost then
  Result<DeviceBatch> sample(BatchKey key, const BatchSeeds& seeds) {
    TROUPE_ASSIGN_OR_RETURN(const auto groups, seeds_for_device(counts_, seeds));
    return HopSampling<Stream>(on_, *graph_, plan_, expected_).run(key, groups);
  }

 private:
  Stream& on_;
  std::shared_ptr<const DeviceGraph> graph_;
  SamplingPlan plan_;
  std::vector<std::uint64_t> counts_;  ///< Nodes by type
  NodesExpected expected_;
};

}  // namespace troupe::gpu
