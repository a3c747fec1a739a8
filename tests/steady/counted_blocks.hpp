#pragma once
/// \file counted_blocks.hpp
/// Counts large blocks that the program allocates: counted_blocks.cpp replaces operator new.
#include <atomic>
#include <cstddef>

namespace troupe::testing {

inline constexpr std::size_t largest_uncounted = std::size_t{1} << 16;

inline std::atomic<std::size_t> counted_blocks{0};
inline std::atomic<std::size_t> largest_counted{0};  ///< Bytes

/// Blocks above 64 KiB that were allocated while `work` ran, on any thread.
template <class Work>
std::size_t count_blocks(Work work) {
  const std::size_t before = counted_blocks;
  largest_counted = 0;
  work();
  return counted_blocks - before;
}

}  // namespace troupe::testing
