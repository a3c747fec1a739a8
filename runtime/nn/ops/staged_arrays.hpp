#pragma once
/// \file staged_arrays.hpp
/// Arrays of a batch that a set of functions reads: those of a device in its memory, after one copy of
/// them all, others where they are.
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::nn {

/// Lifecycle: clear(), add() for each, send(), then at(); again once something computed after the send() before the
///   last one has been waited for
/// Borrows:   the functions; on the CPU the arrays, from add() on
class StagedArrays {
 public:
  explicit StagedArrays(BlockOps& ops) : ops_(ops), memory_(ops.memory()) {}

  void clear();
  /// \returns the array's number
  template <class T>
  std::size_t add(std::span<const T> values) {
    return add_bytes(std::as_bytes(values));
  }
  void send();
  /// In the memory of the functions, until clear(). \param number  of add(), with the same type
  template <class T>
  std::span<const T> at(std::size_t number) const {
    const auto bytes = bytes_at(number);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  std::size_t add_bytes(std::span<const std::byte> bytes);
  std::span<const std::byte> bytes_at(std::size_t number) const;
  bool on_device() const { return ops_.memory() != nullptr; }

  struct Placed {
    const std::byte* host = nullptr;
    std::size_t place = 0;  ///< among the bytes that are copied
    std::size_t size = 0;
  };
  BlockOps& ops_;
  std::vector<Placed> arrays_;
  std::vector<std::byte> copied_;
  std::vector<std::byte> copied_before_;  ///< by the last send(): a device may not have read it yet
  GrowBuffer<std::byte> memory_;
  const std::byte* there_ = nullptr;
};

}  // namespace troupe::nn
