#pragma once
/// \file row_bodies.hpp
/// Kernel bodies of operations on rows (runtime/nn/ops/{finish,row_ops,linear}.hpp), with their
/// bits: same order of sums, one element or one row a call. Matrices are row-major.
#include "gpu/base/launch_shape.hpp"
#include "gpu/base/shared.hpp"
#include "gpu/nn/loads_ahead.hpp"
#include "runtime/nn/ops/row_ops.hpp"

#include <cmath>

namespace troupe::gpu {

inline constexpr std::size_t sum_lanes = 16;

/// Sum of term(0) … term(n - 1): 16 running sums, then those in order.
template <class Term>
TROUPE_HD float lane_sum(std::size_t n, const Term& term) {
  constexpr std::size_t lanes = sum_lanes;
  float sums[lanes] = {};
  for (std::size_t first = 0; first < n; first += lanes) {
    TROUPE_UNROLL
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (first + lane < n) {
        sums[lane] += term(first + lane);
      }
    }
  }
  float total = 0;
  TROUPE_UNROLL
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    total += sums[lane];
  }
  return total;
}

/// What is at `at` becomes `value`, or grows by it.
TROUPE_HD inline void put(float* at, float value, bool add) {
  *at = add ? *at + value : value;
}

/// A body on rows from `first` on.
template <class Body>
struct Shifted {
  static constexpr unsigned least_blocks = least_blocks_of<Body>();
  Body body;
  std::size_t first;
  TROUPE_HD void operator()(std::size_t r, std::size_t c) const { body(first + r, c); }
};

/// out[i] = or += in[i]
struct PutElement {
  const float* in;
  float* out;
  bool add;
  TROUPE_HD void operator()(std::size_t i) const { put(out + i, in[i], add); }
};

struct FillElement {
  float value;
  float* out;
  TROUPE_HD void operator()(std::size_t i) const { out[i] = value; }
};

struct DivideElement {
  float divisor;
  float* out;
  TROUPE_HD void operator()(std::size_t i) const { out[i] /= divisor; }
};

struct ScaleElement {
  float factor;
  float* out;
  TROUPE_HD void operator()(std::size_t i) const { out[i] *= factor; }
};

/// out[r, c] = or += x[r, c] * factor of the row.
struct PutScaled {
  const float* x;
  const float* scale;  ///< [rows], or null
  float factor;
  const float* plus;  ///< is added to the factor of all rows; or null
  std::size_t cols;
  float* out;
  bool add;
  TROUPE_HD void operator()(std::size_t r, std::size_t c) const {
    const float of_all = plus == nullptr ? factor : factor + *plus;
    const float by = scale == nullptr ? of_all : scale[r];
    put(out + r * cols + c, x[r * cols + c] * by, add);
  }
};

/// As layer_norm_rows().
struct LayerNorm {
  const float* x;
  const float* gain;
  const float* bias;
  std::size_t cols;
  nn::NormStats* stats;
  float* y;
  TROUPE_HD void operator()(std::size_t r) const {
    const float* in = x + r * cols;
    float* out = y + r * cols;
    const auto n = static_cast<float>(cols);
    const float mean = lane_sum(cols, [in](std::size_t c) { return in[c]; }) / n;
    const float variance = lane_sum(cols,
                                    [in, mean](std::size_t c) {
                                      const float d = in[c] - mean;
                                      return d * d;
                                    }) /
                           n;
    const float inverse_sd = 1.0F / sqrtf(variance + nn::layer_norm_eps);
    stats[r] = {mean, inverse_sd};
    for (std::size_t c = 0; c < cols; ++c) {
      out[c] = (in[c] - mean) * inverse_sd * gain[c] + bias[c];
    }
  }
};

/// Turns the gradient of a row into that before layer normalization.
struct LayerNormBackward {
  const float* x;
  const nn::NormStats* stats;
  const float* gain;
  std::size_t cols;
  float* grad;
  TROUPE_HD void operator()(std::size_t r) const {
    const float* in = x + r * cols;
    float* g = grad + r * cols;
    const float m = stats[r].mean;
    const float s = stats[r].inverse_sd;
    const auto n = static_cast<float>(cols);
    for (std::size_t c = 0; c < cols; ++c) {
      g[c] *= gain[c];
    }
    const float mean_grad = lane_sum(cols, [g](std::size_t c) { return g[c]; }) / n;
    const float slope =
        lane_sum(cols, [g, in, m, s](std::size_t c) { return g[c] * ((in[c] - m) * s); }) / n;
    for (std::size_t c = 0; c < cols; ++c) {
      g[c] = s * (g[c] - mean_grad - (in[c] - m) * s * slope);
    }
  }
};

struct L2Normalize {
  std::size_t cols;
  float* x;
  float* lengths;
  TROUPE_HD void operator()(std::size_t r) const {
    float* row = x + r * cols;
    const float length = sqrtf(lane_sum(cols, [row](std::size_t c) { return row[c] * row[c]; }));
    lengths[r] = length;
    const float divisor = length < nn::shortest_length ? nn::shortest_length : length;
    for (std::size_t c = 0; c < cols; ++c) {
      row[c] /= divisor;
    }
  }
};

struct L2Backward {
  const float* y;
  const float* lengths;
  std::size_t cols;
  float* grad;
  TROUPE_HD void operator()(std::size_t r) const {
    const float* out = y + r * cols;
    float* g = grad + r * cols;
    const float length = lengths[r];
    const float along = length > nn::shortest_length
                            ? lane_sum(cols, [g, out](std::size_t c) { return g[c] * out[c]; })
                            : 0.0F;
    const float divisor = length < nn::shortest_length ? nn::shortest_length : length;
    for (std::size_t c = 0; c < cols; ++c) {
      g[c] = (g[c] - along * out[c]) / divisor;
    }
  }
};

/// Rows [first, end) of a chunk.
struct ChunkRows {
  std::size_t first;
  std::size_t end;
};
TROUPE_HD inline ChunkRows rows_of_chunk(std::size_t chunk, std::size_t chunk_rows,
                                         std::size_t rows) {
  const std::size_t first = chunk * chunk_rows;
  return {first, first + chunk_rows < rows ? first + chunk_rows : rows};
}

/// Rows of a column, or of two, whose loads are issued together.
inline constexpr unsigned row_batch = 32;
inline constexpr unsigned last_rows = 8;

/// sums[chunk, c] = sum of column c over the chunk's rows, row after row.
struct ColumnSums {
  static constexpr unsigned least_blocks = 1;
  const float* x;
  std::size_t rows;
  std::size_t cols;
  std::size_t chunk_rows;
  std::size_t pitch;  ///< of `sums`
  float* sums;
  TROUPE_HD void operator()(std::size_t chunk, std::size_t c) const {
    const auto [first, end] = rows_of_chunk(chunk, chunk_rows, rows);
    float sum = 0;
    in_order<row_batch, last_rows>(
        first, end, [this, c](std::size_t r) { return x[r * cols + c]; },
        [&sum](std::size_t /*r*/, float value) { sum += value; });
    sums[chunk * pitch + c] = sum;
  }
};

/// The same for the gradients of gain and bias of layer normalization.
/// \param sums  [chunks, pitch]: gains, then `cols` further on the biases
struct NormSums {
  static constexpr unsigned least_blocks = 1;
  const float* x;
  const nn::NormStats* stats;
  const float* grad;
  std::size_t rows;
  std::size_t cols;
  std::size_t chunk_rows;
  std::size_t pitch;
  float* sums;
  struct Row {
    float grad;
    float x;
    nn::NormStats stats;
  };
  TROUPE_HD void operator()(std::size_t chunk, std::size_t c) const {
    const auto [first, end] = rows_of_chunk(chunk, chunk_rows, rows);
    float gain = 0;
    float bias = 0;
    in_order<row_batch / 2, last_rows>(
        first, end,
        [this, c](std::size_t r) {
          return Row{grad[r * cols + c], x[r * cols + c], stats[r]};
        },
        [&gain, &bias](std::size_t /*r*/, const Row& row) {
          gain += row.grad * ((row.x - row.stats.mean) * row.stats.inverse_sd);
          bias += row.grad;
        });
    sums[chunk * pitch + c] = gain;
    sums[chunk * pitch + cols + c] = bias;
  }
};

}  // namespace troupe::gpu
