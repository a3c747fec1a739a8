#pragma once
/// \file device_sampler.hpp
/// Sampling of batches on a device, whichever it is.
#include "gpu/sample/device_batch.hpp"
#include "gpu/sample/device_graph.hpp"

#include <cstdint>
#include <memory>

namespace troupe::gpu {

class EmulatedDevice;

/// Batches of one graph, whose lists it keeps in the device's memory. It has a stream of its own.
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
  virtual Result<SampledBatch> download(const DeviceBatch& batch) = 0;
  /// Memory that the graph takes, on the device and of the host.
  struct GraphBytes {
    std::uint64_t device = 0;
    std::uint64_t pinned = 0;
  };
  virtual GraphBytes graph_bytes() const = 0;
};

/// Uploads a graph. \param part  is not needed afterwards
/// \errors those of arrays_for_device(); out_of_memory or cuda_failure
Result<std::unique_ptr<DeviceSampler>> make_emulated_sampler(std::shared_ptr<EmulatedDevice> device,
                                                             const GraphInfo& graph,
                                                             const Part& part,
                                                             const SampleOptions& options,
                                                             Topology topology = Topology::device);
/// \param device  number of the CUDA device
/// \errors besides: unimplemented: this build has no CUDA
Result<std::unique_ptr<DeviceSampler>> make_cuda_sampler(int device, const GraphInfo& graph,
                                                         const Part& part,
                                                         const SampleOptions& options,
                                                         Topology topology = Topology::device);

}  // namespace troupe::gpu
