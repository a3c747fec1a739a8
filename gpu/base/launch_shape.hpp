#pragma once
/// \file launch_shape.hpp
/// Blocks and threads of a kernel.
#include <cstddef>

namespace troupe::gpu {

inline constexpr unsigned most_threads = 256;
inline constexpr unsigned most_blocks = 1U << 20;

/// Blocks of most_threads that a multiprocessor must have registers for, by a body's member
/// `least_blocks`; 0: the compiler decides. It then saves registers for many blocks, and lets loads
/// wait for each other: a body that loads ahead sets a number.
template <class Body>
constexpr unsigned least_blocks_of() {
  if constexpr (requires { Body::least_blocks; }) {
    return Body::least_blocks;
  }
  return 0;
}

/// Threads of a block for so many elements: a small kernel has small blocks, so
/// that each of some hundred multiprocessors gets some of them.
constexpr unsigned threads_for(std::size_t elements) {
  constexpr std::size_t enough_blocks = 264;
  unsigned threads = most_threads;
  while (threads > 32 && elements < threads * enough_blocks) {
    threads /= 2;
  }
  return threads;
}

constexpr unsigned blocks_for(std::size_t n, std::size_t each, std::size_t most) {
  const std::size_t blocks = (n + each - 1) / each;
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

/// Shape of a kernel on the elements of a matrix. Blocks that do not reach to its end go on by their number,
/// in the kernel's loops.
struct RowsShape {
  unsigned across = 1;  ///< threads of a block beside each other
  unsigned down = 1;    ///< rows of threads of a block
  unsigned blocks_across = 1;
  unsigned blocks_down = 1;
};

/// A block takes whole rows, if it can: threads that follow each other take
/// elements that do. \requires rows > 0, cols > 0
constexpr RowsShape shape_for_rows(std::size_t rows, std::size_t cols) {
  constexpr std::size_t warp = 32;
  const std::size_t threads = threads_for(rows * cols);
  RowsShape shape;
  std::size_t across = cols;
  std::size_t down = 1;
  if (cols <= threads) {
    down = threads / cols < rows ? threads / cols : rows;
  } else {
    const std::size_t pieces = (cols + threads - 1) / threads;
    across = ((cols + pieces - 1) / pieces + warp - 1) / warp * warp;
  }
  shape.across = static_cast<unsigned>(across);
  shape.down = static_cast<unsigned>(down);
  shape.blocks_across = blocks_for(cols, across, 65535);
  shape.blocks_down = blocks_for(rows, down, most_blocks);
  return shape;
}

}  // namespace troupe::gpu
