#pragma once
/// \file grow_buffer.hpp
/// Scratch memory that a pass keeps between batches. Not for data that must survive a resize.
#include "runtime/base/buffer.hpp"
#include "runtime/base/matrix.hpp"

#include <cstddef>
#include <span>

namespace troupe::nn {

/// Where memory of a pass comes from, if not from the process's pool: a device.
class PassMemory {
 public:
  virtual ~PassMemory() = default;
  /// A block of at least so many bytes, contents undefined.
  virtual Buffer take(std::size_t size_bytes) = 0;
};

/// Memory that grows when a larger batch comes and never shrinks, so that most batches allocate
/// nothing.
/// Guarantees: a span stays valid until the next call that asks for more
template <class T>
class GrowBuffer {
 public:
  /// \param source  null: the process's pool; outlives this
  explicit GrowBuffer(PassMemory* source = nullptr) : source_(source) {}

  /// `n` elements with undefined contents.
  std::span<T> get(std::size_t n) {
    if (n * sizeof(T) > memory_.size()) {
      memory_ = Buffer();  // give the old block back before taking the new one
      const std::size_t bytes = (n + n / 4) * sizeof(T);
      memory_ = source_ == nullptr ? Buffer(bytes) : source_->take(bytes);
    }
    return memory_.template as<T>().first(n);
  }
  /// The same as rows.
  /// \requires T is float
  MutMatrix matrix(std::size_t rows, std::size_t cols) {
    return {get(rows * cols).data(), rows, cols};
  }

 private:
  PassMemory* source_;
  Buffer memory_;
};

}  // namespace troupe::nn
