#pragma once
/// \file prefetch_row.hpp
/// Starts to load rows that lie far apart, a few before they are needed.
#include "runtime/base/prefetch.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace troupe {

/// Starts to load the first KiB of a row. The processor's own prefetching takes the rest of longer ones.
inline void prefetch_row(std::span<const std::byte> row) {
  constexpr std::size_t line_bytes = 64;
  constexpr std::size_t most_bytes = 1024;
  for (std::size_t byte = 0; byte < std::min(row.size(), most_bytes); byte += line_bytes) {
    prefetch(row.data() + byte);
  }
}

}  // namespace troupe
