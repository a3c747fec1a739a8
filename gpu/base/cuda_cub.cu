// What CudaStream takes from CUB, which is slow to compile.
#include "gpu/base/cuda_stream.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

namespace troupe::gpu {
namespace {

int bits_of(std::uint32_t end) {
  int bits = 0;
  while (bits < 32 && (std::uint64_t{1} << bits) < end) {
    ++bits;
  }
  return bits > 0 ? bits : 1;
}

}  // namespace

void CudaStream::running_sum(const std::uint32_t* in, std::size_t n, std::uint32_t* out) {
  zero(out, sizeof(std::uint32_t));
  if (n == 0 || !ready()) {
    return;
  }
  std::size_t bytes = 0;
  check(cub::DeviceScan::InclusiveSum(nullptr, bytes, in, out + 1, n, stream_.get()), "running sum",
        n);
  const auto scratch = array<std::byte>(bytes);
  if (!failed()) {
    check(cub::DeviceScan::InclusiveSum(scratch.data(), bytes, in, out + 1, n, stream_.get()),
          "running sum", n);
  }
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
                                            bits_of(pairs.end), stream_.get()),
            "sort", pairs.count);
    }
  };
  sort(nullptr);
  const auto scratch = array<std::byte>(bytes);
  sort(scratch.data());
}

}  // namespace troupe::gpu
