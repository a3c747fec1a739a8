#include "gpu/nn/cublas.cuh"
#include "gpu/nn/cuda_block_ops.hpp"
#include "gpu/nn/device_block_ops.hpp"

namespace troupe::gpu {

Result<std::unique_ptr<nn::BlockOps>> make_cuda_block_ops(int device, nn::Precision precision,
                                                          std::size_t product_rows) {
  CudaStream stream(device);
  TROUPE_RETURN_IF_ERROR(stream.finish());
  TROUPE_ASSIGN_OR_RETURN(auto products, CublasProducts::create(stream, precision, product_rows));
  return std::unique_ptr<nn::BlockOps>(std::make_unique<DeviceBlockOps<CudaStream, CublasProducts>>(
      std::move(stream), std::move(products)));
}

}  // namespace troupe::gpu
