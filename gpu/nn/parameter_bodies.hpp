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

/// Products of two arrays are summed up as lane_sum() does, a thread a lane. Sum s is of `size` elements
/// from s * size on, or of what is there of them.
struct ProductLanes {
  static constexpr unsigned least_blocks = 1;
  const float* a;
  std::size_t a_step;  ///< from a sum's elements to the next one's: `size`, or 0
  const float* b;
  std::size_t size;
  std::size_t end;  ///< of the elements of all sums
  float* lanes;     ///< [sums, sum_lanes]
  struct Loaded {
    float a;
    float b;
  };
  TROUPE_HD void operator()(std::size_t s, std::size_t lane) const {
    const float* const x = a + s * a_step + lane;
    const float* const y = b + s * size + lane;
    const std::size_t left = end - s * size;
    const std::size_t count = left < size ? left : size;
    const std::size_t of_lane = lane < count ? (count - lane + sum_lanes - 1) / sum_lanes : 0;
    float sum = 0;
    in_order<row_batch / 2, last_rows>(
        std::size_t{0}, of_lane,
        [x, y](std::size_t k) {
          return Loaded{x[k * sum_lanes], y[k * sum_lanes]};
        },
        [&sum](std::size_t /*k*/, const Loaded& loaded) { sum += loaded.a * loaded.b; });
    lanes[s * sum_lanes + lane] = sum;
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
  static constexpr unsigned least_blocks = 1;
  const float* grad;
  const float* fresh;
  const float* old;
  std::size_t rows;
  std::size_t cols;
  std::size_t chunk_rows;
  float* sums;
  struct Loaded {
    float grad;
    float fresh;
    float old;
  };
  TROUPE_HD void operator()(std::size_t chunk) const {
    const auto [first, end] = rows_of_chunk(chunk, chunk_rows, rows);
    float sum = 0;
    in_order<row_batch / 2, last_rows>(
        first * cols, end * cols,
        [this](std::size_t i) {
          return Loaded{grad[i], fresh[i], old[i]};
        },
        [&sum](std::size_t /*i*/, const Loaded& at) { sum += at.grad * (at.fresh - at.old); });
    sums[chunk] = sum;
  }
};

/// The gate's gradient, from the sums of chunks.
struct GateGradient {
  static constexpr unsigned least_blocks = 1;
  const float* gate;
  const float* sums;
  std::size_t chunks;
  float* out;
  TROUPE_HD void operator()(std::size_t /*one*/) const {
    const float share = gate_share_of(gate);
    float sum = 0;
    in_order<row_batch, last_rows>(
        std::size_t{0}, chunks, [this](std::size_t chunk) { return sums[chunk]; },
        [&sum](std::size_t /*chunk*/, float of_chunk) { sum += of_chunk; });
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
