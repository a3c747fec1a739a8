#pragma once
/// \file matrix.hpp
/// Dense float32 matrices, row-major without padding. `Matrix` owns pooled memory or a share of a
/// segment; `MatrixView` borrows. The operations on them are in runtime/nn.
#include "runtime/base/assert.hpp"
#include "runtime/base/buffer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace troupe {

/// Borrowed rows: shape [rows, cols], row pitch = cols.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;

  std::size_t size() const noexcept { return rows * cols; }
  std::span<T> row(std::size_t i) const { return {data + i * cols, cols}; }
  std::span<T> flat() const { return {data, size()}; }
  /// Rows [first, first + count).
  /// \requires they exist
  MatrixView slice(std::size_t first, std::size_t count) const {
    TROUPE_ASSERT(first + count <= rows, "rows past the end", first, count, rows);
    return {data + first * cols, count, cols};
  }
  operator MatrixView<const T>() const  // NOLINT(google-explicit-constructor)
      requires(!std::is_const_v<T>) {
    return {data, rows, cols};
  }
};
using ConstMatrix = MatrixView<const float>;
using MutMatrix = MatrixView<float>;

/// Owned rows, 64-byte aligned, contents undefined unless made by `zeros`. Moves only. Those made
/// `of` a segment are read only.
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t cols)
      : memory_(rows * cols * sizeof(float)), rows_(rows), cols_(cols) {}
  static Matrix zeros(std::size_t rows, std::size_t cols) {
    Matrix m(rows, cols);
    std::ranges::fill(m.view().flat(), 0.0F);
    return m;
  }
  /// Rows that came in a segment: shared if they are aligned to 64 bytes, else copied.
  /// \requires the segment holds rows * cols numbers
  static Matrix of(Segment segment, std::size_t rows, std::size_t cols);
  Matrix(Matrix&&) noexcept = default;
  Matrix& operator=(Matrix&&) noexcept = default;
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  std::size_t rows() const noexcept { return rows_; }
  std::size_t cols() const noexcept { return cols_; }
  /// \requires not made of a segment
  float* data() {
    TROUPE_ASSERT(shared_.empty(), "rows of a segment are read only");
    return reinterpret_cast<float*>(memory_.data());
  }
  const float* data() const noexcept {
    return shared_.empty() ? reinterpret_cast<const float*>(memory_.data())
                           : shared_.as<float>().data();
  }
  MutMatrix view() { return {data(), rows_, cols_}; }
  ConstMatrix view() const noexcept { return {data(), rows_, cols_}; }

  /// The rows as a segment, shared. Nothing is copied.
  /// \requires nobody writes to them any more
  Segment share() const { return shared_.empty() ? memory_.share() : shared_; }

 private:
  Buffer memory_;
  Segment shared_;  ///< instead of `memory_`, unless empty
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
};

inline Matrix Matrix::of(Segment segment, std::size_t rows, std::size_t cols) {
  TROUPE_ASSERT(segment.bytes.size() == rows * cols * sizeof(float), "bytes of rows",
                segment.bytes.size(), rows, cols);
  if (reinterpret_cast<std::uintptr_t>(segment.bytes.data()) % 64 != 0) {
    Matrix copy(rows, cols);
    std::ranges::copy(segment.bytes, copy.memory_.data());
    return copy;
  }
  Matrix m;
  m.shared_ = std::move(segment);
  m.rows_ = rows;
  m.cols_ = cols;
  return m;
}

}  // namespace troupe
