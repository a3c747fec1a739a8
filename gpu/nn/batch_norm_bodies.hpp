#pragma once
/// \file batch_norm_bodies.hpp
/// Kernel bodies of batch normalization (runtime/nn/ops/batch_norm.hpp), with its bits.
#include "gpu/nn/row_bodies.hpp"
#include "runtime/nn/ops/batch_norm.hpp"

#include <cmath>

namespace troupe::gpu {

TROUPE_HD inline float inverse_deviation(float variance) {
  return 1.0F / sqrtf(variance + nn::batch_norm_eps);
}

/// A BatchNorm in device memory.
struct Normalizing {
  const float* x;
  std::size_t rows;
  std::size_t cols;
  const float* gain;
  const float* bias;
  const float* mean;
  const float* variance;
  bool training;
};

/// sums[chunk, c] = sum of the squared distances of column c from its mean.
struct ColumnSquares {
  static constexpr unsigned least_blocks = 1;
  Normalizing norm;
  std::size_t chunk_rows;
  float* sums;
  TROUPE_HD void operator()(std::size_t chunk, std::size_t c) const {
    const auto [first, end] = rows_of_chunk(chunk, chunk_rows, norm.rows);
    const float mean = norm.mean[c];
    float sum = 0;
    in_order<row_batch, last_rows>(
        first, end, [this, c](std::size_t r) { return norm.x[r * norm.cols + c]; },
        [&sum, mean](std::size_t /*r*/, float x) {
          const float d = x - mean;
          sum += d * d;
        });
    sums[chunk * norm.cols + c] = sum;
  }
};

struct NormalizeColumns {
  Normalizing norm;
  float* out;
  TROUPE_HD void operator()(std::size_t r, std::size_t c) const {
    const std::size_t i = r * norm.cols + c;
    out[i] = (norm.x[i] - norm.mean[c]) * inverse_deviation(norm.variance[c]) * norm.gain[c] +
             norm.bias[c];
  }
};

/// sums[chunk, 2 * cols]: of grad times the normalized row, then of grad.
struct ColumnGradientSums {
  static constexpr unsigned least_blocks = 1;
  Normalizing norm;
  const float* grad;
  std::size_t chunk_rows;
  float* sums;
  struct Loaded {
    float grad;
    float x;
  };
  TROUPE_HD void operator()(std::size_t chunk, std::size_t c) const {
    const auto [first, end] = rows_of_chunk(chunk, chunk_rows, norm.rows);
    const float mean = norm.mean[c];
    const float factor = inverse_deviation(norm.variance[c]);
    float gain = 0;
    float bias = 0;
    in_order<row_batch / 2, last_rows>(
        first, end,
        [this, c](std::size_t r) {
          return Loaded{grad[r * norm.cols + c], norm.x[r * norm.cols + c]};
        },
        [&gain, &bias, mean, factor](std::size_t /*r*/, const Loaded& row) {
          gain += row.grad * ((row.x - mean) * factor);
          bias += row.grad;
        });
    sums[chunk * 2 * norm.cols + c] = gain;
    sums[chunk * 2 * norm.cols + norm.cols + c] = bias;
  }
};

struct NormalizeBackward {
  Normalizing norm;
  const float* sums;  ///< [2 * cols] over all rows
  float* grad;
  TROUPE_HD void operator()(std::size_t r, std::size_t c) const {
    const std::size_t i = r * norm.cols + c;
    const float s = inverse_deviation(norm.variance[c]);
    float g = grad[i];
    if (norm.training) {
      g -= (sums[norm.cols + c] + (norm.x[i] - norm.mean[c]) * s * sums[c]) /
           static_cast<float>(norm.rows);
    }
    grad[i] = g * (norm.gain[c] * s);
  }
};

}  // namespace troupe::gpu
