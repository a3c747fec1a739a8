#pragma once
/// \file mean_bodies.hpp
/// Kernel bodies of means over ranks.
#include "runtime/base/even_share.hpp"

#include <cstddef>

namespace troupe::gpu {

/// One number of the slice that a rank owns.
struct MeanOfRanks {
  const float* received;  ///< [world, size]
  std::size_t world;
  std::size_t size;
  float divisor;
  float* out;  ///< [size]
  constexpr void operator()(std::size_t i) const {
    float sum = 0;
    for (std::size_t rank = 0; rank < world; ++rank) {
      sum += received[rank * size + i];
    }
    out[i] = sum / divisor;
  }
};

/// Number i of the slice that `owner` owns, to its place in the vector.
struct PutSlice {
  const float* all;  ///< [world, most]
  std::size_t world;
  std::size_t most;
  std::size_t size;  ///< of the vector
  float* vector;
  constexpr void operator()(std::size_t owner, std::size_t i) const {
    const Share slice = even_share(size, world, owner);
    if (i < slice.size) {
      vector[slice.first + i] = all[owner * most + i];
    }
  }
};

struct DivideSum {
  float divisor;
  float* values;
  constexpr void operator()(std::size_t i) const { values[i] /= divisor; }
};

}  // namespace troupe::gpu
