#pragma once
/// \file norm_bodies.hpp
/// Kernel bodies of layer normalization and of the division by a row's length (runtime/nn/ops/row_ops.hpp),
/// with their bits. Sums over a row's columns have the lanes of lane_sum(), a thread each; what follows
/// takes columns by themselves.
#include "gpu/base/columns.hpp"
#include "gpu/base/shared.hpp"
#include "gpu/nn/loads_ahead.hpp"
#include "gpu/nn/row_bodies.hpp"
#include "runtime/nn/ops/row_ops.hpp"

#include <cmath>

namespace troupe::gpu {

/// lanes[row, sum, lane] = the lanes of Term::sums sums over the row's columns.
/// \tparam Term  of_row(row) gives a function of the column, which gives what is added
template <class Term>
struct RowLanes {
  static constexpr unsigned least_blocks = 4;
  static constexpr unsigned sums = Term::sums;
  Term term;
  std::size_t cols;
  float* lanes;
  TROUPE_HD void operator()(std::size_t r, std::size_t lane) const {
    const auto at = term.of_row(r);
    Floats<sums> total = {};
    in_order<16, 4>(
        std::size_t{0}, lane < cols ? (cols - lane + sum_lanes - 1) / sum_lanes : 0,
        [&at, lane](std::size_t k) { return at(lane + k * sum_lanes); },
        [&total](std::size_t /*k*/, const Floats<sums>& values) {
          TROUPE_UNROLL
          for (unsigned s = 0; s < sums; ++s) {
            total.of[s] += values.of[s];
          }
        });
    TROUPE_UNROLL
    for (unsigned s = 0; s < sums; ++s) {
      lanes[(r * sums + s) * sum_lanes + lane] = total.of[s];
    }
  }
};

struct ColumnOfRow {
  static constexpr unsigned sums = 1;
  const float* x;
  std::size_t cols;
  TROUPE_HD auto of_row(std::size_t r) const {
    const float* const row = x + r * cols;
    return [row](std::size_t c) { return Floats<1>{{row[c]}}; };
  }
};

struct SquareOfColumn {
  static constexpr unsigned sums = 1;
  const float* x;
  std::size_t cols;
  TROUPE_HD auto of_row(std::size_t r) const {
    const float* const row = x + r * cols;
    return [row](std::size_t c) {
      const float value = row[c];
      return Floats<1>{{value * value}};
    };
  }
};

/// From the row's mean.
struct SquaredDistance {
  static constexpr unsigned sums = 1;
  const float* x;
  std::size_t cols;
  const float* lanes;  ///< of ColumnOfRow
  TROUPE_HD float mean(std::size_t r) const {
    return total_of_lanes(lanes + r * sum_lanes) / static_cast<float>(cols);
  }
  TROUPE_HD auto of_row(std::size_t r) const {
    const float* const row = x + r * cols;
    const float middle = mean(r);
    return [row, middle](std::size_t c) {
      const float d = row[c] - middle;
      return Floats<1>{{d * d}};
    };
  }
};

/// What layer normalization makes of a row's sums.
struct RowStats {
  static constexpr unsigned least_blocks = 4;
  SquaredDistance of;
  const float* squares;  ///< lanes
  nn::NormStats* stats;
  TROUPE_HD void operator()(std::size_t r) const {
    const float variance = total_of_lanes(squares + r * sum_lanes) / static_cast<float>(of.cols);
    stats[r] = {of.mean(r), 1.0F / sqrtf(variance + nn::layer_norm_eps)};
  }
};

/// Layer normalization of a column, by statistics; no statistics: it stays.
struct Normed {
  const nn::NormStats* stats;
  const float* gain;
  const float* bias;
  template <unsigned Width>
  TROUPE_HD void apply(std::size_t r, std::size_t pack, Floats<Width>& x) const {
    if (stats == nullptr) {
      return;
    }
    const nn::NormStats of_row = stats[r];
    TROUPE_UNROLL
    for (unsigned w = 0; w < Width; ++w) {
      const std::size_t c = pack * Width + w;
      x.of[w] = (x.of[w] - of_row.mean) * of_row.inverse_sd * gain[c] + bias[c];
    }
  }
};

/// A row's gradient times the gain, and that times the normalized row.
struct NormGradient {
  static constexpr unsigned sums = 2;
  const float* x;
  const nn::NormStats* stats;
  const float* gain;
  std::size_t cols;
  const float* grad;
  TROUPE_HD auto of_row(std::size_t r) const {
    const float* const in = x + r * cols;
    const float* const of_out = grad + r * cols;
    const float* const gains = gain;
    const nn::NormStats of = stats[r];
    return [in, of_out, gains, of](std::size_t c) {
      const float g = of_out[c] * gains[c];
      return Floats<2>{{g, g * ((in[c] - of.mean) * of.inverse_sd)}};
    };
  }
};

/// Turns the gradient of rows into that before layer normalization, for a pack of Width columns.
template <unsigned Width>
struct LayerNormBackward {
  NormGradient of;
  const float* means;  ///< [rows, 2] of both sums of NormGradient
  float* grad;
  TROUPE_HD void operator()(std::size_t r, std::size_t pack) const {
    const std::size_t at = r * of.cols + pack * Width;
    const auto in = read_columns<Width>(of.x + at);
    auto g = read_columns<Width>(grad + at);
    const float m = of.stats[r].mean;
    const float s = of.stats[r].inverse_sd;
    const float mean_grad = means[2 * r];
    const float slope = means[2 * r + 1];
    TROUPE_UNROLL
    for (unsigned w = 0; w < Width; ++w) {
      const float scaled = g.of[w] * of.gain[pack * Width + w];
      g.of[w] = s * (scaled - mean_grad - (in.of[w] - m) * s * slope);
    }
    write_columns(grad + at, g);
  }
};

/// means[i] of the lanes of sum i.
struct MeanOfLanes {
  static constexpr unsigned least_blocks = 4;
  const float* lanes;
  std::size_t cols;
  float* means;
  TROUPE_HD void operator()(std::size_t i) const {
    means[i] = total_of_lanes(lanes + i * sum_lanes) / static_cast<float>(cols);
  }
};

struct RowLength {
  static constexpr unsigned least_blocks = 4;
  const float* lanes;  ///< of SquareOfColumn
  float* lengths;
  TROUPE_HD void operator()(std::size_t r) const {
    lengths[r] = sqrtf(total_of_lanes(lanes + r * sum_lanes));
  }
};

TROUPE_HD inline float divisor_of(float length) {
  return length < nn::shortest_length ? nn::shortest_length : length;
}

/// A row by its length, for a pack of Width columns.
template <unsigned Width>
struct DivideByLength {
  std::size_t cols;
  const float* lengths;
  float* x;
  TROUPE_HD void operator()(std::size_t r, std::size_t pack) const {
    float* const at = x + r * cols + pack * Width;
    auto values = read_columns<Width>(at);
    const float divisor = divisor_of(lengths[r]);
    TROUPE_UNROLL
    for (unsigned w = 0; w < Width; ++w) {
      values.of[w] /= divisor;
    }
    write_columns(at, values);
  }
};

/// A gradient times what came out.
struct AlongRow {
  static constexpr unsigned sums = 1;
  const float* y;
  const float* grad;
  std::size_t cols;
  TROUPE_HD auto of_row(std::size_t r) const {
    const float* const out = y + r * cols;
    const float* const g = grad + r * cols;
    return [out, g](std::size_t c) { return Floats<1>{{g[c] * out[c]}}; };
  }
};

/// The gradient before the division, for a pack of Width columns.
template <unsigned Width>
struct L2Backward {
  const float* y;
  const float* lengths;
  const float* along;  ///< [rows] sums of AlongRow
  std::size_t cols;
  float* grad;
  TROUPE_HD void operator()(std::size_t r, std::size_t pack) const {
    const std::size_t at = r * cols + pack * Width;
    const auto out = read_columns<Width>(y + at);
    auto g = read_columns<Width>(grad + at);
    const float length = lengths[r];
    const float of_row = length > nn::shortest_length ? along[r] : 0.0F;
    const float divisor = divisor_of(length);
    TROUPE_UNROLL
    for (unsigned w = 0; w < Width; ++w) {
      g.of[w] = (g.of[w] - of_row * out.of[w]) / divisor;
    }
    write_columns(grad + at, g);
  }
};

}  // namespace troupe::gpu
