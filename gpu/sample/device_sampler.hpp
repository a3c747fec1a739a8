#pragma once
/// \file device_sampler.hpp
/// Sampling of batches on a device, whichever it is.
#include "gpu/sample/device_batch.hpp"
#include "gpu/sample/device_graph.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace troupe::gpu {

class EmulatedDevice;

/// Batches of one graph, whose lists may be other samplers', too. It has a stream of its own.
/// Lifecycle: an error of the device ends it: each later call returns that error
/// Threads:   one at a time
class DeviceSampler {
 public:
  DeviceSampler() = default;
  DeviceSampler(const DeviceSampler&) = delete;
  DeviceSampler& operator=(const DeviceSampler&) = delete;
  virtual ~DeviceSampler() = default;

  /// Samples a batch: what runtime/sample makes of the same graph, options, key and seeds. When it
  /// returns the arrays have their contents.
  /// \errors invalid_argument: seeds that are not in the graph, too many nodes or edges;
  ///   unimplemented: excluded edges; out_of_memory or cuda_failure
  virtual Result<DeviceBatch> sample(BatchKey key, const BatchSeeds& seeds) = 0;
  /// The batch in the host's memory. Waits.
  /// \errors out_of_memory or cuda_failure
  Result<SampledBatch> download(const DeviceBatch& batch) {
    const auto copied = fetch(batch);
    TROUPE_RETURN_IF_ERROR(wait());
    return copied();
  }
  /// Launches copies of the batch to the host. \returns what makes the host's batch after wait(); see
  ///   fetch_batch()
  virtual std::function<SampledBatch()> fetch(const DeviceBatch& batch) = 0;
  /// Until all work is done. \errors out_of_memory or cuda_failure
  virtual Status wait() = 0;
  virtual const DeviceGraph& graph() const = 0;
};

/// Uploads a graph; see upload_graph(). Waits.
/// \errors out_of_memory or cuda_failure
Result<std::shared_ptr<const DeviceGraph>> emulated_graph(
    const std::shared_ptr<EmulatedDevice>& device, const GraphArrays& arrays,
    Topology topology = Topology::device, const DeviceGraph* beside = nullptr);
/// \param device  number of the CUDA device
/// \errors besides: unimplemented: this build has no CUDA
Result<std::shared_ptr<const DeviceGraph>> cuda_graph(int device, const GraphArrays& arrays,
                                                      Topology topology = Topology::device,
                                                      const DeviceGraph* beside = nullptr);

/// \param graph  of the same device, uploaded for the options that the plan is of
std::unique_ptr<DeviceSampler> make_emulated_sampler(std::shared_ptr<EmulatedDevice> device,
                                                     std::shared_ptr<const DeviceGraph> graph,
                                                     SamplingPlan plan);
/// \errors unimplemented: this build has no CUDA
Result<std::unique_ptr<DeviceSampler>> make_cuda_sampler(int device,
                                                         std::shared_ptr<const DeviceGraph> graph,
                                                         SamplingPlan plan);

}  // namespace troupe::gpu
