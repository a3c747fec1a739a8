// Sampling on a CUDA device. A thread draws for one row, or takes one edge. Bound by random reads: of
// a row two offsets and its original id, of an edge a neighbor's id and a slot of the table.
#include "gpu/base/cuda_stream.cuh"
#include "gpu/sample/stream_sampler.hpp"

namespace troupe::gpu {

Result<std::shared_ptr<const DeviceGraph>> cuda_graph(int device, const GraphArrays& arrays,
                                                      Topology topology,
                                                      const DeviceGraph* beside) {
  return graph_on(CudaStream(device), arrays, topology, beside);
}

Result<std::unique_ptr<DeviceSampler>> make_cuda_sampler(int device,
                                                         std::shared_ptr<const DeviceGraph> graph,
                                                         SamplingPlan plan) {
  return std::unique_ptr<DeviceSampler>(std::make_unique<StreamSampler<CudaStream>>(
      CudaStream(device), std::move(graph), std::move(plan)));
}

}  // namespace troupe::gpu
