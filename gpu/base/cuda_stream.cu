#include "gpu/base/cuda_stream.cuh"

#include <limits>
#include <string>

namespace troupe::gpu {
Error cuda_error(int error, const char* operation, std::size_t size, int device) {
  const auto code = static_cast<cudaError_t>(error);
  std::string what = "CUDA device ";
  what.append(std::to_string(device)).append(": ").append(operation);
  what.append(" of ").append(std::to_string(size)).append(": ").append(cudaGetErrorString(code));
  what.append(" (").append(cudaGetErrorName(code)).append(")");
  return {code == cudaErrorMemoryAllocation ? Errc::out_of_memory : Errc::cuda_failure,
          std::move(what)};
}

namespace {

/// Memory that goes back to the device's pool stays there: else each wait gives it to the system, and
/// the next batch fetches it again.
cudaError_t keep_memory_in_pool(int device) {
  cudaMemPool_t pool = nullptr;
  if (const auto error = cudaDeviceGetDefaultMemPool(&pool, device); error != cudaSuccess) {
    return error;
  }
  std::uint64_t threshold = std::numeric_limits<std::uint64_t>::max();
  return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
}

}  // namespace

CudaStream::CudaStream(int device) : device_(device) {
  cudaStream_t stream = nullptr;
  if (ready()) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream", 1);
  }
  if (!failed()) {
    check(keep_memory_in_pool(device), "memory pool", 1);
  }
  stream_ = Handle(stream, [](cudaStream_t s) {
    if (s != nullptr) {
      cudaStreamDestroy(s);
    }
  });
}

void* CudaStream::allocate(std::size_t bytes) {
  void* block = nullptr;
  if (ready()) {
    check(cudaMallocAsync(&block, bytes > 0 ? bytes : 1, stream_.get()), "memory", bytes);
  }
  return failed() ? nullptr : block;
}

void* CudaStream::allocate_host(std::size_t bytes) {
  void* block = nullptr;
  if (!failed()) {
    check(cudaHostAlloc(&block, bytes > 0 ? bytes : 1, cudaHostAllocMapped | cudaHostAllocPortable),
          "pinned memory", bytes);
  }
  return failed() ? nullptr : block;
}

CudaEvent CudaStream::record() {
  cudaEvent_t event = nullptr;
  if (ready()) {
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event", 1);
  }
  CudaEvent result(event);
  if (!failed()) {
    check(cudaEventRecord(event, stream_.get()), "event", 1);
  }
  return result;
}

void CudaStream::wait(const CudaEvent& event) {
  if (ready()) {
    check(cudaStreamWaitEvent(stream_.get(), event.get(), 0), "wait", 1);
  }
}

Status CudaStream::finish() {
  if (ready()) {
    check(cudaStreamSynchronize(stream_.get()), "wait", 1);
  }
  return error_ ? Status(*error_) : ok_status();
}

void CudaStream::drain() {
  if (stream_ && cudaSetDevice(device_) == cudaSuccess) {
    cudaStreamSynchronize(stream_.get());
  }
}

}  // namespace troupe::gpu
