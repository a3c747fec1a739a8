#pragma once
/// \file sample_hops.hpp
/// Sampling of batches on a device: one template over its streams (gpu/base). The whole graph lies on
/// the device; batches have the arrays that runtime/sample makes.
#include "gpu/sample/device_batch.hpp"
#include "gpu/sample/device_graph.hpp"
#include "gpu/sample/hop_sampling.hpp"
#include "gpu/sample/one_trip.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// How many batches were made in which way.
struct TripCounts {
  std::uint64_t one_trip = 0;  ///< With one wait
  std::uint64_t by_hop = 0;    ///< With a wait per hop and one at the end
  /// Of these, those that were tried with one wait before, and had not enough room.
  std::uint64_t did_not_fit = 0;
};

/// The first batch, and those that are larger than what came before, are made with a wait per hop, all
/// others with one (see docs/gpu.md, "Sampling with one wait").
/// Threads: one at a time
/// Borrows: `on`
template <class Stream>
class HopSampler {
 public:
  /// \param plan  of the options that `graph` was made with
  HopSampler(Stream& on, std::shared_ptr<const DeviceGraph> graph, SamplingPlan plan,
             const TripOptions& options = {.memory = memory_of<Stream>})
      : on_(on),
        graph_(std::move(graph)),
        plan_(std::move(plan)),
        options_(options),
        expected_(graph_->nodes.size()) {
    for (const auto& nodes : graph_->nodes) {
      counts_.push_back(nodes.count);
    }
  }

  /// The work is launched and waited for.
  /// \errors those of seeds_for_device(); invalid_argument: too many nodes or edges; those of the
  ///   stream, which is lost then
  Result<DeviceBatch> sample(BatchKey key, const BatchSeeds& seeds) {
    TROUPE_ASSIGN_OR_RETURN(const auto groups, seeds_for_device(counts_, seeds));
    std::vector<std::uint64_t> of_type(counts_.size());
    for (const auto& [type, nodes] : groups) {
      of_type[raw(type)] += nodes.size();
    }
    const auto room = room_for(sizes_, *graph_, plan_, of_type);
    const bool tries = room && !plan_.fanout.empty();
    if (tries) {
      OneTrip<Stream> trip(on_, *graph_, plan_, *room, key, groups);
      TROUPE_ASSIGN_OR_RETURN(auto batch, trip.run(host_, options_));
      if (batch) {
        ++trips_.one_trip;
        sizes_.learn(trip.sizes());
        return *std::move(batch);
      }
    }
    HopSampling<Stream> sampling(on_, *graph_, plan_, expected_);
    TROUPE_ASSIGN_OR_RETURN(auto batch, sampling.run(key, groups));
    ++trips_.by_hop;
    trips_.did_not_fit += tries ? 1U : 0U;
    sizes_.learn(sampling.sizes());
    return Result<DeviceBatch>(std::move(batch));
  }
  const TripCounts& trips() const { return trips_; }

 private:
  Stream& on_;
  std::shared_ptr<const DeviceGraph> graph_;
  SamplingPlan plan_;
  TripOptions options_;
  std::vector<std::uint64_t> counts_;  ///< Nodes by type
  NodesExpected expected_;
  SizesExpected sizes_;
  TripHost host_;
  TripCounts trips_;
};

}  // namespace troupe::gpu
