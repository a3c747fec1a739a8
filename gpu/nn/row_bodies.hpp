#pragma once
/// \file row_bodies.hpp
/// Kernel bodies of operations on rows (runtime/nn/ops/{finish,row_ops,linear}.hpp), with their
/// bits: same order of sums, one element or one row a call. Matrices are row-major.
#include "gpu/base/columns.hpp"
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

/// The end of lane_sum(): the running sums in order. \param lanes  [sum_lanes], aligned to four
TROUPE_HD inline float total_of_lanes(const float* lanes) {
  Floats<4> fours[sum_lanes / 4];
  TROUPE_UNROLL
  for (std::size_t i = 0; i < sum_lanes / 4; ++i) {
    fours[i] = read_columns<4>(lanes + 4 * i);
  }
  float total = 0;
  TROUPE_UNROLL
  for (std::size_t i = 0; i < sum_lanes; ++i) {
    total += fours[i / 4].of[i % 4];
  }
  return total;
}

/// sums[s] of its lanes.
struct AddLanes {
  static constexpr unsigned least_blocks = 1;
  const float* lanes;
  float* sums;
  TROUPE_HD void operator()(std::size_t s) const {
    sums[s] = total_of_lanes(lanes + s * sum_lanes);
  }
};

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

/// out[r] = left[r], then right[r].
struct JoinColumns {
  const float* left;
  const float* right;
  std::size_t left_cols;
  std::size_t cols;  ///< of both
  float* out;
  TROUPE_HD void operator()(std::size_t i) const {
    const std::size_t r = i / cols;
    const std::size_t c = i % cols;
    out[i] =
        c < left_cols ? left[r * left_cols + c] : right[r * (cols - left_cols) + (c - left_cols)];
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

/// sums[c] of the sums of chunks; those that chunks do not have are 0.
struct AddChunks {
  static constexpr unsigned least_blocks = 1;
  const float* partials;  ///< [chunks, cols]
  std::size_t chunks;
  std::size_t cols;
  float* sums;
  TROUPE_HD void operator()(std::size_t c) const {
    float sum = 0;
    in_order<row_batch, last_rows>(
        std::size_t{0}, c < cols ? chunks : 0,
        [this, c](std::size_t chunk) { return partials[chunk * cols + c]; },
        [&sum](std::size_t /*chunk*/, float of_chunk) { sum += of_chunk; });
    sums[c] = sum;
  }
};

/// As ColumnSums, for the gradients of gain and bias of layer normalization.
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
