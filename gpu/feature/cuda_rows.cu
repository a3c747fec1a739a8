// Rows of tables on a CUDA device. A thread takes four columns of a row, the threads of a warp neighboring
// ones. Bound by memory: a stored row is read, from the device's memory or over the bus to the host, and one
// of float32 written. With row sums each row is read twice, the first time by one thread, because its sum
// has one order.
#include "gpu/base/cuda_stream.cuh"
#include "gpu/feature/stream_rows.hpp"

namespace troupe::gpu {

Result<std::shared_ptr<const DeviceFeatures>> cuda_features(int device, const FeatureArrays& arrays,
                                                            const RowTiers& near,
                                                            const DeviceFeatures* beside) {
  return features_on(CudaStream(device), arrays, near, beside);
}

Result<std::unique_ptr<DeviceRowSource>> make_cuda_row_source(
    int device, std::shared_ptr<const DeviceFeatures> features) {
  return std::unique_ptr<DeviceRowSource>(
      std::make_unique<StreamRows<CudaStream>>(CudaStream(device), std::move(features)));
}

}  // namespace troupe::gpu
