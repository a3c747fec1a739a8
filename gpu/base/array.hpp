#pragma once
/// \file array.hpp
/// Memory of a device.
#include <cstddef>
#include <memory>
#include <utility>

namespace troupe::gpu {

/// An array in a device's memory; the host must not read it. Contents undefined at first.
/// Owns: the memory, which goes back in the order of the stream that gave it: work that was launched
///   there before the array ended may still use it. Another stream's must have been waited for
/// Threads: may end on any thread
template <class T>
class Array {
 public:
  Array() = default;
  /// \param memory  at least size * sizeof(T) bytes, aligned to 256
  Array(std::shared_ptr<void> memory, std::size_t size) : memory_(std::move(memory)), size_(size) {}

  T* data() const { return static_cast<T*>(memory_.get()); }
  std::size_t size() const { return size_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }
  bool empty() const { return size_ == 0; }

  /// The first elements; they keep the whole memory. \requires size <= size()
  Array first(std::size_t size) const { return {memory_, size}; }
  /// Elements of any type within the memory, which they keep whole.
  /// \param first_byte  a multiple of 256
  template <class U>
  Array<U> piece(std::size_t first_byte, std::size_t size) const {
    return {std::shared_ptr<void>(memory_, static_cast<std::byte*>(memory_.get()) + first_byte),
            size};
  }

 private:
  std::shared_ptr<void> memory_;
  std::size_t size_ = 0;
};

}  // namespace troupe::gpu
