// In place of the .cu files where there is no CUDA compiler.
// NOLINTBEGIN(performance-unnecessary-value-param): parameters of the functions there
#include "gpu/comm/cuda_means.hpp"
#include "gpu/feature/device_rows.hpp"
#include "gpu/nn/cuda_block_ops.hpp"
#include "gpu/run/devices.hpp"
#include "gpu/run/program_stream.hpp"
#include "gpu/sample/device_sampler.hpp"

namespace troupe::gpu {
namespace {

Error built_without_cuda() {
  return {Errc::unimplemented,
          "CUDA devices: this program was built without a CUDA compiler; try: "
          "./bootstrap cuda, then build again (a program of your own: "
          "find_package(troupe COMPONENTS cuda)); or the device \"cpu\""};
}

}  // namespace

Result<std::shared_ptr<Devices>> open_cuda_devices(std::span<const std::uint32_t> /*numbers*/) {
  return built_without_cuda();
}

Status check_cuda_libraries() {
  return built_without_cuda();
}

Result<std::unique_ptr<nn::BlockOps>> make_cuda_block_ops(int /*device*/,
                                                          nn::Precision /*precision*/,
                                                          std::size_t /*product_rows*/) {
  return built_without_cuda();
}

Result<std::unique_ptr<DeviceMeans>> cuda_means(int /*device*/, const nn::BlockOps& /*ops*/,
                                                const DeviceMeansOptions& /*options*/) {
  return built_without_cuda();
}

Result<std::unique_ptr<DeviceMeans>> cuda_means(int /*device*/, const ProgramStream& /*on*/,
                                                const DeviceMeansOptions& /*options*/) {
  return built_without_cuda();
}

Result<std::unique_ptr<ProgramStream>> make_cuda_program_stream(int /*device*/) {
  return built_without_cuda();
}

Result<std::string> nccl_version(const char* /*file*/) {
  return built_without_cuda();
}

Result<std::shared_ptr<const DeviceGraph>> cuda_graph(int /*device*/, const GraphArrays& /*arrays*/,
                                                      Topology /*topology*/,
                                                      const DeviceGraph* /*beside*/) {
  return built_without_cuda();
}

Result<std::unique_ptr<DeviceSampler>> make_cuda_sampler(
    int /*device*/, std::shared_ptr<const DeviceGraph> /*graph*/, SamplingPlan /*plan*/) {
  return built_without_cuda();
}

Result<std::shared_ptr<const DeviceFeatures>> cuda_features(int /*device*/,
                                                            const FeatureArrays& /*arrays*/,
                                                            const RowTiers& /*near*/,
                                                            const DeviceFeatures* /*beside*/) {
  return built_without_cuda();
}

Result<std::unique_ptr<DeviceRowSource>> make_cuda_row_source(
    int /*device*/, std::shared_ptr<const DeviceFeatures> /*features*/) {
  return built_without_cuda();
}

}  // namespace troupe::gpu
// NOLINTEND(performance-unnecessary-value-param)
