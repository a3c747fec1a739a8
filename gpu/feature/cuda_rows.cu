// Rows of tables on a CUDA device. A thread takes four columns of a row, the threads of a warp neighboring
// ones. Bound by memory: a stored row is read, one of float32 written. With row sums each row is read
// twice, the first time by one thread, because its sum has one order.
#include "gpu/base/cuda_stream.cuh"
#include "gpu/feature/stream_rows.hpp"

namespace troupe::gpu {

Result<std::unique_ptr<DeviceRowSource>> make_cuda_row_source(int device, const GraphInfo& graph,
                                                              const Part& part,
                                                              const FeaturePlan& plan) {
  TROUPE_ASSIGN_OR_RETURN(const auto arrays, features_for_device(graph, part, plan));
  return StreamRows<CudaStream>::create(CudaStream(device), arrays);
}

}  // namespace troupe::gpu
