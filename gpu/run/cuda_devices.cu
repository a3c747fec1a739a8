#include "gpu/base/context_of_thread.cuh"
#include "gpu/base/cuda_error.hpp"
#include "gpu/comm/cuda_means.hpp"
#include "gpu/nn/cublas.cuh"
#include "gpu/nn/cuda_block_ops.hpp"
#include "gpu/nn/product_pieces.hpp"
#include "gpu/run/devices.hpp"
#include "runtime/base/buffer.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace troupe::gpu {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000).append(".").append(std::to_string(version % 1000 / 10));
}

/// Tells apart why there is no device.
Error no_devices(cudaError_t error) {
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (driver == 0) {
    return {Errc::not_found,
            "CUDA devices: expected an NVIDIA driver, found none; try: the device \"cpu\""};
  }
  if (error == cudaErrorInsufficientDriver) {
    std::string what = "CUDA devices: expected a driver for CUDA ";
    what.append(version_text(runtime)).append(" or later, found one for ");
    what.append(version_text(driver));
    return {Errc::failed_precondition, std::move(what)};
  }
  if (error == cudaSuccess || error == cudaErrorNoDevice) {
    return {Errc::not_found, "CUDA devices: expected a GPU, found none"};
  }
  return cuda_error(error, "count of devices", 0, 0);
}

/// Ten times the least compute capability that this is compiled for.
int least_capability() {
  constexpr std::array all{__CUDA_ARCH_LIST__};
  return *std::ranges::min_element(all) / 10;
}

// A thread that has no device yet would start the first one, also where the process uses others.
std::atomic<int> device_of_pool = 0;

// Where the system allows no more pinned memory copies are as slow as before.
void pin(std::byte* block, std::size_t bytes) noexcept {
  const ContextOfThread back;
  cudaSetDevice(device_of_pool);
  if (cudaHostRegister(block, bytes, cudaHostRegisterPortable) != cudaSuccess) {
    cudaGetLastError();  // or the next launch would report it
  }
}
void unpin(std::byte* block, std::size_t /*bytes*/) noexcept {
  const ContextOfThread back;
  cudaSetDevice(device_of_pool);
  if (cudaHostUnregister(block) != cudaSuccess) {
    cudaGetLastError();
  }
}

/// Batches that the host makes for a learner lie in blocks of the pool: the device copies them by itself.
void pin_pool(int device) {
  device_of_pool = device;
  static constexpr PoolObserver pins{
      .kept_bytes = pinned_pool_limit_bytes, .came = pin, .goes = unpin};
  observe_pool(&pins);
}

class CudaDevices final : public Devices {
 public:
  struct Device {
    int number;
    std::string name;
  };
  explicit CudaDevices(std::vector<Device> devices) : devices_(std::move(devices)) {}
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const Device& device : devices_) {
      names.push_back(device.name);
    }
    return names;
  }
  std::vector<int> numbers() const override {
    std::vector<int> numbers;
    for (const Device& device : devices_) {
      numbers.push_back(device.number);
    }
    return numbers;
  }
  std::string versions() const override {
    int driver = 0;
    int runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    std::ifstream file("/proc/driver/nvidia/version");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string number = driver_number(text);
    std::string versions = "driver ";
    versions.append(number).append(number.empty() ? "" : " ").append("for CUDA ");
    versions.append(version_text(driver)).append(", runtime ").append(version_text(runtime));
    const auto cublas = cublas_version();
    versions.append(cublas ? ", cuBLAS " : ", no cuBLAS").append(cublas ? *cublas : "");
    if (devices_.size() > 1) {
      const auto nccl = nccl_version();
      versions.append(nccl ? ", NCCL " : ", no NCCL").append(nccl ? *nccl : "");
    }
    return versions;
  }
  Result<std::unique_ptr<nn::BlockOps>> block_ops(Rank rank, nn::Precision precision) override {
    pin_pool(number_of(rank));
    return make_cuda_block_ops(number_of(rank), precision);
  }
  Result<std::unique_ptr<nn::BlockOps>> exact_ops(Rank rank) override {
    pin_pool(number_of(rank));
    return make_cuda_block_ops(number_of(rank), nn::Precision::float32, exact_product_rows());
  }
  std::size_t exact_product_rows() const override { return cuda_product_rows; }
  Result<std::unique_ptr<DeviceMeans>> means(Rank rank, const nn::BlockOps& ops,
                                             const DeviceMeansOptions& options) override {
    return cuda_means(number_of(rank), ops, options);
  }
  Result<std::unique_ptr<ProgramStream>> program_stream(Rank rank) override {
    pin_pool(number_of(rank));
    return make_cuda_program_stream(number_of(rank));
  }
  Result<std::unique_ptr<DeviceMeans>> means(Rank rank, const ProgramStream& on,
                                             const DeviceMeansOptions& options) override {
    return cuda_means(number_of(rank), on, options);
  }
  Result<MemoryOfDevice> memory(Rank rank) override {
    const int device = number_of(rank);
    std::size_t free = 0;
    std::size_t total = 0;
    auto error = cudaSetDevice(device);
    error = error == cudaSuccess ? cudaMemGetInfo(&free, &total) : error;
    if (error != cudaSuccess) {
      return cuda_error(error, "size of memory", 0, device);
    }
    return MemoryOfDevice{free, total};
  }
  Result<std::shared_ptr<const DeviceGraph>> graph(Rank rank, const GraphArrays& arrays,
                                                   Topology topology,
                                                   const DeviceGraph* beside) override {
    return cuda_graph(number_of(rank), arrays, topology, beside);
  }
  Result<std::shared_ptr<const DeviceFeatures>> features(Rank rank, const FeatureArrays& arrays,
                                                         const RowTiers& near,
                                                         const DeviceFeatures* beside) override {
    return cuda_features(number_of(rank), arrays, near, beside);
  }
  Result<std::unique_ptr<DeviceSampler>> sampler(Rank rank,
                                                 std::shared_ptr<const DeviceGraph> graph,
                                                 SamplingPlan plan) override {
    return make_cuda_sampler(number_of(rank), std::move(graph), std::move(plan));
  }
  Result<std::unique_ptr<DeviceRowSource>> row_source(
      Rank rank, std::shared_ptr<const DeviceFeatures> features) override {
    return make_cuda_row_source(number_of(rank), std::move(features));
  }

 private:
  int number_of(Rank rank) const { return devices_[raw(rank) % devices_.size()].number; }

  std::vector<Device> devices_;
};

}  // namespace

Status check_cuda_libraries() {
  const auto version = cublas_version();
  return version ? ok_status() : Status(version.error());
}

Result<std::shared_ptr<Devices>> open_cuda_devices(std::span<const std::uint32_t> numbers) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    return no_devices(error);
  }
  std::vector<std::uint32_t> wanted(numbers.begin(), numbers.end());
  for (int i = 0; numbers.empty() && i < count; ++i) {
    wanted.push_back(static_cast<std::uint32_t>(i));
  }
  std::vector<CudaDevices::Device> devices;
  for (const std::uint32_t number : wanted) {
    if (number >= static_cast<std::uint32_t>(count)) {
      std::string what = "CUDA devices: expected one of number ";
      what.append(std::to_string(number)).append(", found ").append(std::to_string(count));
      return Error(Errc::not_found, std::move(what));
    }
    cudaDeviceProp properties{};
    const auto device = static_cast<int>(number);
    if (const auto found = cudaGetDeviceProperties(&properties, device); found != cudaSuccess) {
      return cuda_error(found, "properties", 0, device);
    }
    TROUPE_RETURN_IF_ERROR(
        check_capability({.number = number,
                          .name = properties.name,
                          .capability = properties.major * 10 + properties.minor},
                         least_capability()));
    devices.push_back({device, properties.name});
  }
  return std::shared_ptr<Devices>(std::make_shared<CudaDevices>(std::move(devices)));
}

}  // namespace troupe::gpu
