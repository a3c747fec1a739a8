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
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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

struct CopyWord {
  const std::uint32_t* from;
  std::uint32_t* to;
  TROUPE_HD void operator()(std::size_t i) const { to[i] = from[i]; }
};

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

/// A stream of CUDA's, with small blocks of the device's memory that came back to it. They are used again in its
/// order without a call of the driver, of which a step would have a hundred.
/// Threads: any
/// Bound:   keeps most_kept_bytes
class StreamAndBlocks {
 public:
  StreamAndBlocks(cudaStream_t stream, int device) : stream_(stream), device_(device) {}
  ~StreamAndBlocks();
  StreamAndBlocks(const StreamAndBlocks&) = delete;
  StreamAndBlocks& operator=(const StreamAndBlocks&) = delete;

  cudaStream_t get() const { return stream_; }
  /// Bytes of the block that is taken for so many.
  static std::size_t block_bytes(std::size_t bytes);
  /// \param bytes  of block_bytes()  \returns null: none is kept
  void* take(std::size_t bytes);
  void give_back(void* block, std::size_t bytes);

 private:
  static constexpr std::size_t most_block_bytes = std::size_t{1} << 20;
  static constexpr std::size_t most_kept_bytes = std::size_t{32} << 20;

  cudaStream_t stream_;
  int device_;
  std::mutex mutex_;
  std::size_t kept_bytes_ = 0;
  std::vector<std::pair<std::size_t, void*>> kept_;
};

/// After an error no work is launched, and finish() returns the error.
/// Threads: one at a time
class CudaStream {
 public:
  /// \param device  number of the CUDA device
  explicit CudaStream(int device);

  template <class T>
  Array<T> array(std::size_t size) {
    const std::size_t bytes = StreamAndBlocks::block_bytes(size * sizeof(T));
    void* const block = allocate(bytes);
    if (block == nullptr) {
      return {};
    }
    return {std::shared_ptr<void>(block, GiveBack{stream_, bytes}), size};
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
      for_each_kernel<<<blocks, threads, 0, stream_->get()>>>(n, body);
      check(cudaGetLastError(), "kernel", n);
    }
  }
  template <class Body>
  void for_rows(std::size_t rows, std::size_t cols, Body body) {
    launch_rows(rows, cols, most_blocks, body);
  }
  /// The same with a block for every other multiprocessor: for a body that waits for the bus to the host, which so
  /// many keep busy, while kernels of other streams have the rest.
  template <class Body>
  void for_rows_beside(std::size_t rows, std::size_t cols, Body body) {
    constexpr unsigned few_blocks = 64;
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
  /// A kernel copies few words: its launch costs half of the driver's copy.
  void copy(const void* from, void* to, std::size_t bytes) {
    constexpr std::size_t few_bytes = std::size_t{1} << 16;
    if (bytes <= few_bytes && bytes % sizeof(std::uint32_t) == 0) {
      for_each(bytes / sizeof(std::uint32_t),
               CopyWord{static_cast<const std::uint32_t*>(from), static_cast<std::uint32_t*>(to)});
    } else {
      copy_as(from, to, bytes, cudaMemcpyDeviceToDevice);
    }
  }
  void zero(void* at, std::size_t bytes) {
    if (bytes > 0 && ready()) {
      check(cudaMemsetAsync(at, 0, bytes, stream_->get()), "fill", bytes);
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
  /// Waits on the calling thread until an event of the stream has happened. Threads: any
  /// \returns the error that the stream had when this handle of it was made, or the device's
  Status wait_here(const CudaEvent& event) const;

  /// Waits until all work is done, also after an error. \returns the first error of the stream
  Status finish();
  /// The error that is kept, without a wait.
  Status status() const { return error_ ? Status(*error_) : ok_status(); }
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
  cudaStream_t get() const { return stream_->get(); }
  int device() const { return device_; }

 private:
  using Handle = std::shared_ptr<StreamAndBlocks>;
  struct GiveBack {
    Handle stream;
    std::size_t bytes;
    void operator()(void* block) const { stream->give_back(block, bytes); }
  };

  struct GiveBackHost {
    Handle stream;
    int device;
    void operator()(void* block) const { give_back_host(block, *stream, device); }
  };

  /// \param most_down  blocks below each other
  template <class Body>
  void launch_rows(std::size_t rows, std::size_t cols, unsigned most_down, const Body& body) {
    if (rows > 0 && cols > 0 && ready()) {
      const RowsShape shape = shape_for_rows(rows, cols);
      const dim3 blocks(std::min(shape.blocks_down, most_down), shape.blocks_across);
      const dim3 threads(shape.across, shape.down);
      for_rows_kernel<<<blocks, threads, 0, stream_->get()>>>(rows, cols, body);
      check(cudaGetLastError(), "kernel", rows * cols);
    }
  }
  /// \param bytes  of block_bytes()
  void* allocate(std::size_t bytes);
  void* allocate_host(std::size_t bytes);
  static void give_back_host(void* block, const StreamAndBlocks& stream, int device);
  void copy_as(const void* from, void* to, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes > 0 && ready()) {
      check(cudaMemcpyAsync(to, from, bytes, kind, stream_->get()), "copy", bytes);
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
