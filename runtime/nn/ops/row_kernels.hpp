#pragma once
/// \file row_kernels.hpp
/// Loops over one row, which the compiler turns into vector instructions; only for runtime/nn.
#include <array>
#include <cstddef>

namespace troupe::nn {

inline void add_scaled_row(const float* __restrict in, float factor, float* __restrict out,
                           std::size_t cols) {
  for (std::size_t c = 0; c < cols; ++c) {
    out[c] += in[c] * factor;
  }
}

/// Sum of term(0) … term(n - 1) in an order that vectorizes and depends on n alone: 16 running sums, then
/// these in order.
template <class Term>
[[gnu::always_inline]] inline float sum_in_lanes(std::size_t n, const Term& term) {
  constexpr std::size_t lanes = 16;
  std::array<float, lanes> sums{};
  const std::size_t whole = n / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      sums[lane] += term(i + lane);
    }
  }
  for (std::size_t i = whole; i < n; ++i) {
    sums[i - whole] += term(i);
  }
  float total = 0;
  for (const float sum : sums) {
    total += sum;
  }
  return total;
}

/// Sum of products in an order that depends on `cols` alone: 16 partial sums, added in turn.
inline float dot_row(const float* __restrict a, const float* __restrict b, std::size_t cols) {
  constexpr std::size_t lanes = 16;
  float sums[lanes] = {};
  std::size_t c = 0;
  for (; c + lanes <= cols; c += lanes) {
    for (std::size_t l = 0; l < lanes; ++l) {
      sums[l] += a[c + l] * b[c + l];
    }
  }
  for (std::size_t l = 0; c < cols; ++c, ++l) {
    sums[l] += a[c] * b[c];
  }
  float sum = 0;
  for (const float part : sums) {
    sum += part;
  }
  return sum;
}

inline void scale_row(float factor, float* __restrict out, std::size_t cols) {
  for (std::size_t c = 0; c < cols; ++c) {
    out[c] *= factor;
  }
}

}  // namespace troupe::nn
