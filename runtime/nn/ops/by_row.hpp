#pragma once
/// \file by_row.hpp
/// Things by the row that each of them has, in their order.
#include "runtime/base/assert.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace troupe::nn {

/// \tparam Offset  counts things
template <class Offset>
struct ByRow {
  std::vector<Offset> offsets;      ///< [rows + 1]
  std::vector<std::uint32_t> list;  ///< the things of row 0, of row 1, …

  /// \param row_of  of each thing, below `rows`
  ByRow(std::span<const std::uint32_t> row_of, std::size_t rows)
      : offsets(rows + 1), list(row_of.size()) {
    for (const auto row : row_of) {
      TROUPE_ASSERT(row < rows, "a row", row, rows);
      ++offsets[row + 1];
    }
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    auto next = offsets;
    for (std::uint32_t i = 0; i < row_of.size(); ++i) {
      list[next[row_of[i]]++] = i;
    }
  }
};

}  // namespace troupe::nn
