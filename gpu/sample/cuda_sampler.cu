// Sampling on a CUDA device. A thread draws for one row, or takes one edge. Bound by random reads: of
// a row two offsets and its original id, of an edge a neighbor's id and a slot of the table.
#include "gpu/base/cuda_stream.cuh"
#include "gpu/sample/stream_sampler.hpp"

namespace troupe::gpu {

Result<std::unique_ptr<DeviceSampler>> make_cuda_sampler(int device, const GraphInfo& graph,
                                                         const Part& part,
                                                         const SampleOptions& options,
                                                         Topology topology) {
  TROUPE_ASSIGN_OR_RETURN(const auto arrays, arrays_for_device(graph, part, options));
  return StreamSampler<CudaStream>::create(CudaStream(device), arrays, sampling_plan(options),
                                           topology);
}

}  // namespace troupe::gpu
