#pragma once
/// \file placed_rows.hpp
/// Rows of a table by their places, read where they are.
#include "runtime/base/matrix.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::nn {

/// Row i is row `places[i]` of a table, or row i where there are no places.
/// Borrows: table and places
class PlacedRows {
 public:
  PlacedRows() = default;
  PlacedRows(ConstMatrix table)  // NOLINT(google-explicit-constructor)
      : table_(table), rows_(table.rows) {}
  PlacedRows(MutMatrix table)  // NOLINT(google-explicit-constructor)
      : PlacedRows(ConstMatrix(table)) {}
  /// \param places  below table.rows, duplicates allowed
  PlacedRows(ConstMatrix table, std::span<const std::uint32_t> places)
      : table_(table), places_(places.data()), rows_(places.size()), placed_(true) {}

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return table_.cols; }
  std::span<const float> row(std::size_t i) const { return table_.row(placed_ ? places_[i] : i); }
  /// The table, where rows lie one after the other.
  /// \requires is_dense()
  ConstMatrix table() const { return table_; }
  bool is_dense() const { return !placed_; }

 private:
  ConstMatrix table_;
  const std::uint32_t* places_ = nullptr;
  std::size_t rows_ = 0;
  bool placed_ = false;
};

/// Copies the rows to `to`, which has their shape.
void gather_rows(const PlacedRows& from, MutMatrix to);

}  // namespace troupe::nn
