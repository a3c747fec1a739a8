#pragma once
/// \file shared.hpp
/// What kernel bodies need to compile as plain C++ and under nvcc alike. A body is a struct of raw
/// pointers and sizes with `operator()(std::size_t i) const`: one call per element, in any order, any
/// number of them at once. It may say how many of its blocks must fit at once (launch_shape.hpp).
/// Bodies call constexpr functions of runtime/ (Philox, draws, ids) as they are: nvcc gets
/// --expt-relaxed-constexpr.
#include <cstddef>
#include <cstdint>
#ifdef __CUDACC__
#include <cuda/atomic>
#define TROUPE_HD __host__ __device__
#else
#include <atomic>
#define TROUPE_HD
#endif
// nvcc's two halves know different words for it.
#ifdef __CUDA_ARCH__
#define TROUPE_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define TROUPE_UNROLL
#else
#define TROUPE_UNROLL _Pragma("GCC unroll 32")
#endif

namespace troupe::gpu {

#ifdef __CUDACC__
template <class T>
using AtomicRef = cuda::atomic_ref<T, cuda::thread_scope_device>;
inline constexpr auto relaxed = cuda::std::memory_order_relaxed;
#else
template <class T>
using AtomicRef = std::atomic_ref<T>;
inline constexpr auto relaxed = std::memory_order_relaxed;
#endif

/// Puts `desired` where `expected` is. \returns what was there before
template <class T>
TROUPE_HD T compare_and_put(T& at, T expected, T desired) {
  AtomicRef<T> ref(at);
  ref.compare_exchange_strong(expected, desired, relaxed);
  return expected;
}

/// The smaller of what is there and `value` stays.
template <class T>
TROUPE_HD void put_min(T& at, T value) {
#ifdef __CUDACC__
  AtomicRef<T>(at).fetch_min(value, relaxed);
#else
  AtomicRef<T> ref(at);
  T seen = ref.load(relaxed);
  while (value < seen && !ref.compare_exchange_weak(seen, value, relaxed)) {
  }
#endif
}

}  // namespace troupe::gpu
