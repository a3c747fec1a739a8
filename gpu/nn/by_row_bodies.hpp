#pragma once
/// \file by_row_bodies.hpp
/// Kernel bodies around a stable sort of things by the row that each of them has.
#include "gpu/base/shared.hpp"

namespace troupe::gpu {

/// Of sorted keys those below `key`, by bisection.
TROUPE_HD inline std::uint32_t count_below(const std::uint32_t* keys, std::uint32_t count,
                                           std::size_t key) {
  std::uint32_t low = 0;
  std::uint32_t high = count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// What a sort of things by their rows moves.
struct CountUp {
  std::uint32_t* numbers;
  std::uint32_t first = 0;
  TROUPE_HD void operator()(std::size_t i) const {
    numbers[i] = first + static_cast<std::uint32_t>(i);
  }
};
/// Where each row's things begin in a list by row.
struct RowBegin {
  const std::uint32_t* rows;  ///< [count] of the things, ascending
  std::uint32_t count;
  std::uint32_t* begins;
  TROUPE_HD void operator()(std::size_t row) const { begins[row] = count_below(rows, count, row); }
};

}  // namespace troupe::gpu
