#pragma once
/// \file row_kernels.hpp
/// Loops over one row, which the compiler turns into vector instructions; only for runtime/nn.
#include <cstddef>

namespace troupe::nn {

inline void add_scaled_row(const float* __restrict in, float factor, float* __restrict out,
                           std::size_t cols) {
  for (std::size_t c = 0; c < cols; ++c) {
    out[c] += in[c] * factor;
  }
}

inline void scale_row(float factor, float* __restrict out, std::size_t cols) {
  for (std::size_t c = 0; c < cols; ++c) {
    out[c] *= factor;
  }
}

}  // namespace troupe::nn
