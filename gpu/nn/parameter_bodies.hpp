#pragma once
/// \file parameter_bodies.hpp
/// Kernel bodies of mixtures of parameters, products by head and gates (runtime/nn/ops), with their bits
/// but for the exponential of a gate.
#include "gpu/nn/row_bodies.hpp"

#include <cmath>

namespace troupe::gpu {

/// sum = sum over b of coefficients[b] times block b of `bases`.
struct MixBases {
  const float* coefficients;
  std::size_t count;
  const float* bases;
  std::size_t size;  ///< of the sum
  float* sum;
  TROUPE_HD void operator()(std::size_t i) const {
    float value = 0;
    for (std::size_t b = 0; b < count; ++b) {
      value += bases[b * size + i] * coefficients[b];
    }
    sum[i] = value;
  }
};

/// out[b] = sum of the products of `grad` and block b of `bases`.
struct BasisProduct {
  const float* grad;
  const float* bases;
  std::size_t size;
  float* out;
  TROUPE_HD void operator()(std::size_t b) const {
    const float* a = grad;
    const float* of_block = bases + b * size;
    out[b] = lane_sum(size, [a, of_block](std::size_t i) { return a[i] * of_block[i]; });
  }
};

struct SpreadToBases {
  const float* grad;
  const float* coefficients;
  std::size_t size;
  float* out;
  TROUPE_HD void operator()(std::size_t b, std::size_t i) const {
    out[b * size + i] = grad[i] * coefficients[b];
  }
};

/// sums[chunk] = sum of the products of the elements of the chunk's rows.
struct ChunkProduct {
  const float* a;
  const float* b;
  std::size_t rows;
  std::size_t cols;
  std::size_t chunk_rows;
  float* sums;
  TROUPE_HD void operator()(std::size_t chunk) const {
    const auto [first, end] = rows_of_chunk(chunk, chunk_rows, rows);
    const float* x = a + first * cols;
    const float* y = b + first * cols;
    sums[chunk] = lane_sum((end - first) * cols, [x, y](std::size_t i) { return x[i] * y[i]; });
  }
};

/// The columns of a head, together.
struct TakeHead {
  const float* x;
  std::size_t cols;     ///< of x
  std::size_t columns;  ///< of the head
  std::size_t head;
  float* to;
  TROUPE_HD void operator()(std::size_t r, std::size_t c) const {
    to[r * columns + c] = x[r * cols + head * columns + c];
  }
};
struct PutHead {
  const float* from;
  std::size_t cols;
  std::size_t columns;
  std::size_t head;
  float* y;
  bool add;
  TROUPE_HD void operator()(std::size_t r, std::size_t c) const {
    put(y + r * cols + head * columns + c, from[r * columns + c], add);
  }
};

TROUPE_HD inline float gate_share_of(const float* gate) {
  return 1.0F / (1.0F + expf(-*gate));
}

struct Gate {
  const float* gate;
  const float* fresh;
  const float* old;
  float* y;
  TROUPE_HD void operator()(std::size_t i) const {
    const float share = gate_share_of(gate);
    y[i] = share * fresh[i] + (1 - share) * old[i];
  }
};

/// sums[chunk], element after element.
struct GateSums {
  const float* grad;
  const float* fresh;
  const float* old;
  std::size_t rows;
  std::size_t cols;
  std::size_t chunk_rows;
  float* sums;
  TROUPE_HD void operator()(std::size_t chunk) const {
    const auto [first, end] = rows_of_chunk(chunk, chunk_rows, rows);
    float sum = 0;
    for (std::size_t i = first * cols; i < end * cols; ++i) {
      sum += grad[i] * (fresh[i] - old[i]);
    }
    sums[chunk] = sum;
  }
};

/// The gate's gradient, from the sums of chunks.
struct GateGradient {
  const float* gate;
  const float* sums;
  std::size_t chunks;
  float* out;
  TROUPE_HD void operator()(std::size_t /*one*/) const {
    const float share = gate_share_of(gate);
    float sum = 0;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      sum += sums[chunk];
    }
    *out = sum * share * (1 - share);
  }
};

struct GateBackward {
  const float* gate;
  float* grad;
  float* grad_old;
  TROUPE_HD void operator()(std::size_t i) const {
    const float share = gate_share_of(gate);
    grad_old[i] = grad[i] * (1 - share);
    grad[i] *= share;
  }
};

}  // namespace troupe::gpu
