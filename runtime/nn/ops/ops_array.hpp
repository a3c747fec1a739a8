#pragma once
/// \file ops_array.hpp
/// Numbers that stay in the memory of a set of functions: parameters, and what an optimizer keeps.
#include "runtime/base/buffer.hpp"
#include "runtime/nn/ops/block_ops.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::nn {

/// Zeros at first. The size does not change.
/// Borrows: the functions
/// Errors:  of a device stay with it (BlockOps::finish()); what is read are zeros then
class OpsArray {
 public:
  OpsArray() = default;
  /// \param ops  null: host memory
  OpsArray(BlockOps* ops, std::size_t size);

  /// In the memory of the functions.
  std::span<float> values() const { return memory_.as<float>().first(size_); }
  std::size_t size() const { return size_; }
  /// Copies from host memory, and waits for it. \requires values of the same number
  void put(std::span<const float> host) const;
  /// A copy in host memory.
  std::vector<float> read() const { return read(0, size_); }
  std::vector<float> read(std::size_t first, std::size_t count) const;

 private:
  BlockOps* ops_ = nullptr;
  std::size_t size_ = 0;
  Buffer memory_;
};

}  // namespace troupe::nn
