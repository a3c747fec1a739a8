#include "gpu/base/context_of_thread.cuh"
#include "gpu/base/cuda_stream.cuh"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <string>

namespace troupe::gpu {
Error cuda_error(int error, const char* operation, std::size_t size, int device) {
  const auto code = static_cast<cudaError_t>(error);
  cudaGetLastError();  // or the thread's next launch, of whatever stream, would report it
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

StreamAndBlocks::~StreamAndBlocks() {
  if (stream_ == nullptr) {
    return;
  }
  const ContextOfThread back;
  cudaSetDevice(device_);
  for (const auto& [bytes, block] : kept_) {
    cudaFreeAsync(block, stream_);
  }
  cudaStreamDestroy(stream_);
}

std::size_t StreamAndBlocks::block_bytes(std::size_t bytes) {
  constexpr std::size_t smallest = 512;
  const std::size_t step = std::max(std::bit_ceil(bytes) / 8, smallest);
  return bytes > most_block_bytes ? bytes : std::max((bytes + step - 1) / step * step, smallest);
}

void* StreamAndBlocks::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept_.rbegin(), kept_.rend(),
                                  [bytes](const auto& of) { return of.first == bytes; });
  if (found == kept_.rend()) {
    return nullptr;
  }
  void* const block = found->second;
  kept_.erase(std::next(found).base());
  kept_bytes_ -= bytes;
  return block;
}

void StreamAndBlocks::give_back(void* block, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes <= most_block_bytes && kept_bytes_ + bytes <= most_kept_bytes) {
      kept_.emplace_back(bytes, block);
      kept_bytes_ += bytes;
      return;
    }
  }
  const ContextOfThread back;
  cudaSetDevice(device_);  // else a thread without a device would start the first one
  cudaFreeAsync(block, stream_);
}

CudaStream::CudaStream(int device) : device_(device) {
  cudaStream_t stream = nullptr;
  if (ready()) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream", 1);
  }
  if (!failed()) {
    check(keep_memory_in_pool(device), "memory pool", 1);
  }
  stream_ = std::make_shared<StreamAndBlocks>(stream, device);
}

void* CudaStream::allocate(std::size_t bytes) {
  void* block = nullptr;
  if (ready()) {
    block = stream_->take(bytes);
  }
  if (block == nullptr && !failed()) {
    check(cudaMallocAsync(&block, bytes, stream_->get()), "memory", bytes);
  }
  return failed() ? nullptr : block;
}

void* CudaStream::allocate_host(std::size_t bytes) {
  void* block = nullptr;
  if (ready()) {
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
    check(cudaEventRecord(event, stream_->get()), "event", 1);
  }
  return result;
}

void CudaStream::wait(const CudaEvent& event) {
  if (ready()) {
    check(cudaStreamWaitEvent(stream_->get(), event.get(), 0), "wait", 1);
  }
}

Status CudaStream::wait_here(const CudaEvent& event) const {
  if (error_) {
    return *error_;
  }
  auto status = cudaSetDevice(device_);
  if (status == cudaSuccess) {
    status = cudaEventSynchronize(event.get());
  }
  return status == cudaSuccess ? ok_status() : cuda_error(status, "wait", 1, device_);
}

void CudaStream::give_back_host(void* block, const StreamAndBlocks& stream, int device) {
  const ContextOfThread back;
  cudaSetDevice(device);
  cudaStreamSynchronize(stream.get());
  cudaFreeHost(block);
}

Status CudaStream::finish() {
  if (failed()) {
    drain();
  } else if (ready()) {
    check(cudaStreamSynchronize(stream_->get()), "wait", 1);
  }
  return status();
}

void CudaStream::drain() {
  const ContextOfThread back;
  if (stream_->get() != nullptr && cudaSetDevice(device_) == cudaSuccess) {
    cudaStreamSynchronize(stream_->get());
  }
}

}  // namespace troupe::gpu
