#pragma once
/// \file row_offsets.hpp
/// Where the edges of each row of a batch's edge type begin. Along one of many edge types most rows have
/// no edge: then only the rows with edges are kept, and the array for all rows is made when it is read.
#include "runtime/base/pooled_vector.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// Rows with edges, and where these begin, borrowed.
struct ListedRowsView {
  std::span<const std::uint32_t> rows;     ///< As of ListedRows
  std::span<const std::uint32_t> offsets;  ///< Likewise
};

/// Rows with edges, and where these begin.
struct ListedRows {
  PooledVector<std::uint32_t> rows;           ///< [listed] ascending
  PooledVector<std::uint32_t> offsets = {0};  ///< [listed + 1], starts at 0, rises

  /// Adds the edges of a row behind those of the rows before it.
  /// \requires no row was added behind it; `count` > 0
  void add(std::uint32_t row, std::uint32_t count) {
    if (!rows.empty() && rows.back() == row) {
      offsets.back() += count;
      return;
    }
    rows.push_back(row);
    offsets.push_back(offsets.back() + count);
  }
};

/// An array [rows + 1] that starts at 0, read like a vector.
/// Threads:    const functions from any number at once
/// Guarantees: references into dense() stay valid while the object, or a copy of it, lives
class RowOffsets {
 public:
  using value_type = std::uint32_t;
  using Dense = PooledVector<std::uint32_t>;
  using const_iterator = Dense::const_iterator;  // NOLINT(*-naming): as vector's

  RowOffsets() = default;
  RowOffsets(std::initializer_list<std::uint32_t> offsets) : dense_(offsets) {}
  RowOffsets(Dense offsets) : dense_(std::move(offsets)) {}  // NOLINT(*-explicit-*)
  RowOffsets(const std::vector<std::uint32_t>& offsets)      // NOLINT(*-explicit-*)
      : dense_(offsets) {}
  /// \requires all rows of `listed` are below `rows`
  RowOffsets(std::uint32_t rows, ListedRows listed);
  /// \param owner  keeps the arrays
  RowOffsets(std::uint32_t rows, ListedRowsView listed, std::shared_ptr<const void> owner)
      : sparse_(std::make_shared<const Sparse>(rows, listed, std::move(owner))) {}

  /// Null: the array is kept for all rows.
  const ListedRowsView* listed() const { return sparse_ ? &sparse_->listed : nullptr; }
  /// The array for all rows; made at the first call where only some are kept.
  const Dense& dense() const { return sparse_ ? sparse_->dense() : dense_; }

  std::size_t size() const { return sparse_ ? sparse_->rows + std::size_t{1} : dense_.size(); }
  bool empty() const { return size() == 0; }
  std::uint32_t front() const { return sparse_ ? 0 : dense_.front(); }
  /// The number of edges.
  std::uint32_t back() const { return sparse_ ? sparse_->listed.offsets.back() : dense_.back(); }
  /// Edges of the rows before one. Makes no array: a search where only some rows are kept.
  std::uint32_t before(std::uint32_t row) const;
  std::uint32_t operator[](std::size_t i) const { return dense()[i]; }
  const std::uint32_t* data() const { return dense().data(); }
  const_iterator begin() const { return dense().begin(); }
  const_iterator end() const { return dense().end(); }

  /// The array for all rows, to be written. \requires no rows are listed
  Dense& edit() { return dense_; }

  /// Bytes of what is kept, without an array that was made since.
  std::uint64_t kept_bytes() const;

  friend bool operator==(const RowOffsets& a, const RowOffsets& b) {
    return a.dense() == b.dense();
  }
  friend bool operator==(const RowOffsets& a, const std::vector<std::uint32_t>& b) {
    return a.dense() == b;
  }

 private:
  struct Sparse {
    Sparse(std::uint32_t all, ListedRowsView some, std::shared_ptr<const void> its_owner)
        : rows(all), listed(some), owner(std::move(its_owner)) {}
    const Dense& dense() const;

    std::uint32_t rows;
    ListedRowsView listed;
    std::shared_ptr<const void> owner;  ///< Of the arrays
    mutable std::once_flag once;
    mutable Dense made;
  };

  Dense dense_;
  std::shared_ptr<const Sparse> sparse_;  ///< Null: `dense_` has all rows
};

}  // namespace troupe
