#pragma once
/// \file stream_sampler.hpp
/// DeviceSampler over the streams of gpu/base. For emulated_sampler.cpp and cuda_sampler.cu only.
#include "gpu/sample/device_sampler.hpp"
#include "gpu/sample/sample_hops.hpp"

#include <memory>
#include <utility>

namespace troupe::gpu {

template <class Stream>
class StreamSampler : public DeviceSampler {
 public:
  /// \param arrays  are not needed afterwards
  static Result<std::unique_ptr<DeviceSampler>> create(Stream stream, const GraphArrays& arrays,
                                                       SamplingPlan plan, Topology topology) {
    auto sampler = std::unique_ptr<StreamSampler>(new StreamSampler(std::move(stream)));
    TROUPE_ASSIGN_OR_RETURN(auto graph, upload_graph(sampler->on_, arrays, topology));
    sampler->graph_bytes_ = {graph.bytes, graph.pinned_bytes};
    sampler->sampler_ = std::make_unique<HopSampler<Stream>>(
        sampler->on_, std::make_shared<const DeviceGraph>(std::move(graph)), std::move(plan));
    return std::unique_ptr<DeviceSampler>(std::move(sampler));
  }

  Result<DeviceBatch> sample(BatchKey key, const BatchSeeds& seeds) override {
    return sampler_->sample(key, seeds);
  }
  Result<SampledBatch> download(const DeviceBatch& batch) override {
    return download_batch(on_, batch);
  }
  GraphBytes graph_bytes() const override { return graph_bytes_; }

 private:
  explicit StreamSampler(Stream stream) : on_(std::move(stream)) {}

  Stream on_;
  GraphBytes graph_bytes_;
  std::unique_ptr<HopSampler<Stream>> sampler_;
};

}  // namespace troupe::gpu
