#pragma once
/// \file pooled_vector.hpp
/// Vectors of batches and their messages. Their large blocks come from the pool of `Buffer` and return
/// to it, whichever thread drops the vector. Fresh blocks of the system would cost page faults in every
/// batch.
#include "runtime/base/buffer.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

namespace troupe {

/// Blocks of fewer bytes are left to the system, which is as good at them.
inline constexpr std::size_t smallest_pooled_block = std::size_t{1} << 16;

/// Allocator of std::vector. Stateless: any two are equal.
template <class T>
struct PooledAllocator {
  using value_type = T;

  PooledAllocator() = default;
  template <class U>
  PooledAllocator(const PooledAllocator<U>& /*of_other_type*/) noexcept {}  // NOLINT(*-explicit-*)

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);  // vectors refuse more than fit
    void* const block =
        bytes < smallest_pooled_block ? ::operator new(bytes) : take_pooled_block(bytes);
    return static_cast<T*>(block);
  }
  void deallocate(T* block, std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < smallest_pooled_block) {
      ::operator delete(block);
    } else {
      give_back_pooled_block(block, bytes);
    }
  }
  friend bool operator==(const PooledAllocator&, const PooledAllocator&) { return true; }
};

/// A vector with that allocator, which is made of a plain one by copying.
template <class T>
class PooledVector : public std::vector<T, PooledAllocator<T>> {
 public:
  using Base = std::vector<T, PooledAllocator<T>>;
  using Base::Base;
  using Base::operator=;

  PooledVector() = default;
  PooledVector(const std::vector<T>& values)  // NOLINT(google-explicit-constructor)
      : Base(values.begin(), values.end()) {}
};

template <class T>
bool operator==(const PooledVector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b);
}

}  // namespace troupe
