#pragma once
/// \file rows_ahead.hpp
/// Rows that a loop over edges is about to read, which lie far apart; only for runtime/nn.
#include "runtime/base/matrix.hpp"
#include "runtime/base/prefetch_row.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::nn {

/// Starts to load the row of `x` that an entry of `rows` a few behind `at` names, if it is before `end`.
inline void prefetch_row_ahead(std::span<const std::uint32_t> rows, std::size_t at, std::size_t end,
                               ConstMatrix x) {
  constexpr std::size_t edges_ahead = 8;
  if (at + edges_ahead < end) {
    const float* row = x.data + rows[at + edges_ahead] * x.cols;
    prefetch_row(std::as_bytes(std::span(row, x.cols)));
  }
}

}  // namespace troupe::nn
