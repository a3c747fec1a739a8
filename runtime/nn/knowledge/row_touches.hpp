#pragma once
/// \file row_touches.hpp
/// Which elements of some lists name which row: so that what lists add to a table's rows is summed row by
/// row, by any number of threads, in the order of the lists.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::nn {

/// Lifecycle: assign(), then any number of of_row(); again. Keeps its memory
/// Threads:   assign() alone
class RowTouches {
 public:
  /// \param rows   of the table
  /// \param lists  places of rows, all below `rows`; their elements are numbered one list after the other
  void assign(std::size_t rows, std::span<const std::span<const std::uint32_t>> lists);
  /// The elements that name a row, by their numbers in ascending order.
  std::span<const std::uint32_t> of_row(std::size_t row) const {
    return std::span(order_).subspan(ends_[row], ends_[row + 1] - ends_[row]);
  }

 private:
  std::vector<std::uint32_t> ends_;  ///< [rows + 1]: of row i from ends_[i] on
  std::vector<std::uint32_t> order_;
};

}  // namespace troupe::nn
