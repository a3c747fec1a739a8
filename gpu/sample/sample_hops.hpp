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
  /// \param options  of which `graph` was made
  HopSampler(Stream& on, std::shared_ptr<const DeviceGraph> graph,
             std::shared_ptr<const SampleOptions> options)
      : on_(on),
        graph_(std::move(graph)),
        options_(std::move(options)),
        expected_(graph_->nodes.size()) {
    for (const auto& nodes : graph_->nodes) {
      counts_.push_back(nodes.count);
    }
  }

  /// The work is launched, and waited for once per hop and once at the end.
  /// \errors those of check_device_seeds(); invalid_argument: too many nodes or edges; those of the
  ///   stream, which is lost then
  Result<DeviceBatch> sample(BatchKey key, const BatchSeeds& seeds) {
    TROUPE_RETURN_IF_ERROR(check_device_seeds(counts_, seeds));
    return HopSampling<Stream>(on_, *graph_, *options_, expected_).run(key, seeds);
  }

 private:
  Stream& on_;
  std::shared_ptr<const DeviceGraph> graph_;
  std::shared_ptr<const SampleOptions> options_;
  std::vector<std::uint64_t> counts_;  ///< Nodes by type
  NodesExpected expected_;
};

}  // namespace troupe::gpu
