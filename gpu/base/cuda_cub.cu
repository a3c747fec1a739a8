// What CudaStream takes from CUB, which is slow to compile.
#include "gpu/base/cuda_stream.cuh"

#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace troupe::gpu {
namespace {

/// Elements, and a 0 behind the last.
struct ElementOr0 {
  const std::uint32_t* at;
  std::size_t n;
  TROUPE_HD std::uint32_t operator()(std::size_t i) const { return i < n ? at[i] : 0; }
};

constexpr int short_threads = 1024;
constexpr int short_items = 8;
/// Longest sum that one block computes. CUB's takes two launches and memory.
constexpr std::size_t short_sum = std::size_t{short_threads} * short_items;

__global__ void __launch_bounds__(short_threads)
    short_sum_kernel(const std::uint32_t* in, int n, std::uint32_t* out) {
  using Load = cub::BlockLoad<std::uint32_t, short_threads, short_items, cub::BLOCK_LOAD_TRANSPOSE>;
  using Scan = cub::BlockScan<std::uint32_t, short_threads>;
  using Store =
      cub::BlockStore<std::uint32_t, short_threads, short_items, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Scan::TempStorage scan;
    typename Store::TempStorage store;
  } shared;
  std::uint32_t items[short_items];
  Load(shared.load).Load(in, items, n, 0U);
  __syncthreads();
  Scan(shared.scan).InclusiveSum(items, items);
  __syncthreads();
  Store(shared.store).Store(out + 1, items, n);
  if (threadIdx.x == 0) {
    out[0] = 0;
  }
}

int bits_of(std::uint32_t end) {
  int bits = 0;
  while (bits < 32 && (std::uint64_t{1} << bits) < end) {
    ++bits;
  }
  return bits > 0 ? bits : 1;
}

}  // namespace

void CudaStream::running_sum(const std::uint32_t* in, std::size_t n, std::uint32_t* out) {
  if (n <= short_sum && ready()) {
    short_sum_kernel<<<1, short_threads, 0, stream_->get()>>>(in, static_cast<int>(n), out);
    check(cudaGetLastError(), "running sum", n);
    return;
  }
  // Sums before each of n + 1 elements: the first one is the 0 that `out` begins with.
  std::size_t bytes = 0;
  const auto sum = [&](void* scratch) {
    if (ready()) {
      const auto elements = thrust::make_transform_iterator(
          thrust::make_counting_iterator(std::size_t{0}), ElementOr0{in, n});
      check(cub::DeviceScan::ExclusiveSum(scratch, bytes, elements, out, n + 1, stream_->get()),
            "running sum", n);
    }
  };
  sum(nullptr);
  const auto scratch = array<std::byte>(bytes);
  sum(scratch.data());
}

void CudaStream::sort_pairs(const PairsToSort& pairs) {
  if (pairs.count == 0 || !ready()) {
    return;
  }
  std::size_t bytes = 0;
  const auto sort = [&](void* scratch) {
    if (!failed()) {
      check(cub::DeviceRadixSort::SortPairs(scratch, bytes, pairs.keys, pairs.sorted_keys,
                                            pairs.values, pairs.sorted_values, pairs.count, 0,
                                            bits_of(pairs.end), stream_->get()),
            "sort", pairs.count);
    }
  };
  sort(nullptr);
  const auto scratch = array<std::byte>(bytes);
  sort(scratch.data());
}

}  // namespace troupe::gpu
