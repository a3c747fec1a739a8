#pragma once
/// \file stream_sampler.hpp
/// DeviceSampler over the streams of gpu/base. For emulated_sampler.cpp and cuda_sampler.cu only.
#include "gpu/sample/device_sampler.hpp"
#include "gpu/sample/sample_hops.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace troupe::gpu {

template <class Stream>
class StreamSampler : public DeviceSampler {
 public:
  /// \param graph  of the same device, uploaded and waited for
  StreamSampler(Stream stream, std::shared_ptr<const DeviceGraph> graph, SamplingPlan plan)
      : on_(std::move(stream)), graph_(graph), sampler_(on_, std::move(graph), std::move(plan)) {}
  ~StreamSampler() override { on_.drain(); }

  Result<DeviceBatch> sample(BatchKey key, const BatchSeeds& seeds) override {
    auto batch = sampler_.sample(key, seeds);
    if (!batch) {
      on_.drain();  // Copies of seeds read what the caller may drop
    }
    return batch;
  }
  std::function<SampledBatch()> fetch(const DeviceBatch& batch) override {
    return fetch_batch(on_, pool_, batch);
  }
  Status wait() override { return on_.finish(); }
  const DeviceGraph& graph() const override { return *graph_; }

 private:
  Stream on_;
  PinnedPool pool_;
  std::shared_ptr<const DeviceGraph> graph_;
  HopSampler<Stream> sampler_;
};

/// Uploads on a stream of its own. Waits.
template <class Stream>
Result<std::shared_ptr<const DeviceGraph>> graph_on(Stream stream, const GraphArrays& arrays,
                                                    Topology topology, const DeviceGraph* beside) {
  TROUPE_ASSIGN_OR_RETURN(auto graph, upload_graph(stream, arrays, topology, beside));
  return std::make_shared<const DeviceGraph>(std::move(graph));
}

}  // namespace troupe::gpu
