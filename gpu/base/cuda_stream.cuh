#pragma once
/// \file cuda_stream.cuh
/// One stream of a CUDA device, with the operations of EmulatedStream (emulated_device.hpp). Memory
/// comes from the device's pool in the order of the stream. Only for .cu files.
#include "gpu/base/array.hpp"
#include "gpu/base/cuda_error.hpp"
#include "gpu/base/launch_shape.hpp"
#include "gpu/base/shared.hpp"
#include "gpu/base/sort_pairs.hpp"
#include "runtime/base/result.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace troupe::gpu {

template <class Body>
__global__ void __launch_bounds__(most_threads, least_blocks_of<Body>())
    for_each_kernel(std::size_t n, Body body) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    body(i);
  }
}

/// Blocks and threads by shape_for_rows().
template <class Body>
__global__ void __launch_bounds__(most_threads, least_blocks_of<Body>())
    for_rows_kernel(std::size_t rows, std::size_t cols, Body body) {
  const std::size_t down = std::size_t{gridDim.x} * blockDim.y;
  const std::size_t across = std::size_t{gridDim.y} * blockDim.x;
  for (std::size_t r = std::size_t{blockIdx.x} * blockDim.y + threadIdx.y; r < rows; r += down) {
    for (std::size_t c = std::size_t{blockIdx.y} * blockDim.x + threadIdx.x; c < cols;
         c += across) {
      body(r, c);
    }
  }
}

/// An event of a CUDA device.
class CudaEvent {
 public:
  CudaEvent() = default;
  explicit CudaEvent(cudaEvent_t event)
      : event_(event, [](cudaEvent_t e) {
          if (e != nullptr) {
            cudaEventDestroy(e);
          }
        }) {}
  cudaEvent_t get() const { return event_.get(); }

 private:
  std::shared_ptr<CUevent_st> event_;
};

/// After an error everything does nothing, and finish() says what it was.
/// Threads: one at a time
class CudaStream {
 public:
  /// \param device  number of the CUDA device
  explicit CudaStream(int device);

  template <class T>
  Array<T> array(std::size_t size) {
    void* const block = allocate(size * sizeof(T));
    if (block == nullptr) {
      return {};
    }
    return {std::shared_ptr<void>(block, GiveBack{stream_, device_}), size};
  }

  /// Kernels of all devices can read it.
  template <class T>
  Array<T> host_array(std::size_t size) {
    void* const block = allocate_host(size * sizeof(T));
    if (block == nullptr) {
      return {};
    }
    return {std::shared_ptr<void>(block, GiveBackHost{stream_, device_}), size};
  }

  template <class Body>
  void for_each(std::size_t n, Body body) {
    if (n > 0 && ready()) {
      const unsigned threads = threads_for(n);
      const unsigned blocks = blocks_for(n, threads, most_blocks);
      for_each_kernel<<<blocks, threads, 0, stream_.get()>>>(n, body);
      check(cudaGetLastError(), "kernel", n);
    }
  }
  template <class Body>
  void for_rows(std::size_t rows, std::size_t cols, Body body) {
    launch_rows(rows, cols, most_blocks, body);
  }
  /// The same with a block or two for each multiprocessor: for a body that waits for the bus to the host,
  /// so that kernels of other streams run beside it.
  template <class Body>
  void for_rows_beside(std::size_t rows, std::size_t cols, Body body) {
    constexpr unsigned few_blocks = 264;
    launch_rows(rows, cols, few_blocks, body);
  }

  void running_sum(const std::uint32_t* in, std::size_t n, std::uint32_t* out);
  void sort_pairs(const PairsToSort& pairs);

  void upload(const void* host, void* device, std::size_t bytes) {
    copy_as(host, device, bytes, cudaMemcpyHostToDevice);
  }
  void download(const void* device, void* host, std::size_t bytes) {
    copy_as(device, host, bytes, cudaMemcpyDeviceToHost);
  }
  void copy(const void* from, void* to, std::size_t bytes) {
    copy_as(from, to, bytes, cudaMemcpyDeviceToDevice);
  }
  void zero(void* at, std::size_t bytes) {
    if (bytes > 0 && ready()) {
      check(cudaMemsetAsync(at, 0, bytes, stream_.get()), "fill", bytes);
    }
  }
  template <class T>
  Array<T> uploaded(std::span<const T> values) {
    Array<T> result = array<T>(values.size());
    upload(values.data(), result.data(), values.size_bytes());
    return result;
  }
  template <class T>
  T read(const T* at) {
    T value{};
    download(at, &value, sizeof value);
    return finish() ? value : T{};
  }

  CudaEvent record();
  void wait(const CudaEvent& event);

  Status finish();
  /// Waits until nothing runs that was launched before, also after an error: for what ends with the
  /// stream, and is other streams' memory.
  void drain();
  bool failed() const { return error_.has_value(); }
  /// Makes the device the calling thread's, which is what launches need: threads take turns.
  /// \returns false: the stream has failed
  bool ready() {
    if (!failed()) {
      check(cudaSetDevice(device_), "choice", 1);
    }
    return !failed();
  }
  /// Keeps an error, unless there is one.
  void fail(Error error) {
    if (!failed()) {
      static_cast<void>(error_.emplace(std::move(error)));
    }
  }
  cudaStream_t get() const { return stream_.get(); }

 private:
  using Handle = std::shared_ptr<CUstream_st>;
  // A thread that has no device yet would start the first one, also where the process uses others.
  struct GiveBack {
    Handle stream;
    int device;
    void operator()(void* block) const {
      cudaSetDevice(device);
      cudaFreeAsync(block, stream.get());
    }
  };

  struct GiveBackHost {
    Handle stream;
    int device;
    void operator()(void* block) const {
      cudaSetDevice(device);
      cudaStreamSynchronize(stream.get());
      cudaFreeHost(block);
    }
  };

  /// \param most_down  blocks below each other
  template <class Body>
  void launch_rows(std::size_t rows, std::size_t cols, unsigned most_down, const Body& body) {
    if (rows > 0 && cols > 0 && ready()) {
      const RowsShape shape = shape_for_rows(rows, cols);
      const dim3 blocks(std::min(shape.blocks_down, most_down), shape.blocks_across);
      const dim3 threads(shape.across, shape.down);
      for_rows_kernel<<<blocks, threads, 0, stream_.get()>>>(rows, cols, body);
      check(cudaGetLastError(), "kernel", rows * cols);
    }
  }
  void* allocate(std::size_t bytes);
  void* allocate_host(std::size_t bytes);
  void copy_as(const void* from, void* to, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes > 0 && ready()) {
      check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "copy", bytes);
    }
  }
  /// Keeps an error with operation, size and device.
  void check(cudaError_t error, const char* operation, std::size_t size) {
    if (error != cudaSuccess) {
      fail(cuda_error(error, operation, size, device_));
    }
  }

  int device_;
  Handle stream_;
  std::optional<Error> error_;
};

}  // namespace troupe::gpu
