#include "runtime/nn/ops/row_ops.hpp"

#include "runtime/base/hot.hpp"
#include "runtime/nn/ops/row_kernels.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace troupe::nn {
namespace {

constexpr float inverse_root_of_two_pi = 0.398942280401432678F;

/// Share of a normal distribution below x.
inline float normal_below(float x) {
  return 0.5F * (1.0F + std::erf(x * 0.707106781186547524F));
}

/// One of two values. By a mask, since a compiler makes a branch of a choice between numbers that are computed, and half of
/// the branches are mispredicted.
inline float choose(bool first, float a, float b) {
  const auto mask = 0U - std::uint32_t{first};
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & mask) |
                              (std::bit_cast<std::uint32_t>(b) & ~mask));
}

void check_same_shape(ConstMatrix a, ConstMatrix b) {
  TROUPE_ASSERT(a.rows == b.rows && a.cols == b.cols, "shapes", a.rows, a.cols, b.rows, b.cols);
}

}  // namespace

TROUPE_HOT void relu_rows(ConstMatrix x, MutMatrix y) {
  check_same_shape(x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.data[i] = x.data[i] < 0.0F ? 0.0F : x.data[i];
  }
}

TROUPE_HOT void relu_backward_rows(ConstMatrix y, float scale, MutMatrix grad) {
  check_same_shape(y, grad);
  const float* __restrict out = y.data;
  float* __restrict g = grad.data;
  for (std::size_t i = 0; i < y.size(); ++i) {
    g[i] = choose(out[i] <= 0.0F, 0.0F, g[i] * scale);
  }
}

TROUPE_HOT void gelu_backward_rows(ConstMatrix x, MutMatrix grad) {
  check_same_shape(x, grad);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float value = x.data[i];
    const float density = std::exp(-0.5F * value * value) * inverse_root_of_two_pi;
    grad.data[i] *= normal_below(value) + value * density;
  }
}

TROUPE_HOT void activate_rows(Activation activation, float slope, ConstMatrix x, MutMatrix y) {
  check_same_shape(x, y);
  if (activation == Activation::gelu) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.data[i] = x.data[i] * normal_below(x.data[i]);
    }
    return;
  }
  if (activation == Activation::elu) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.data[i] = x.data[i] > 0.0F ? x.data[i] : std::expm1(x.data[i]);
    }
    return;
  }
  TROUPE_ASSERT(activation == Activation::leaky_relu, "activation", static_cast<int>(activation));
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.data[i] = choose(x.data[i] > 0.0F, x.data[i], x.data[i] * slope);
  }
}

TROUPE_HOT void activate_backward_rows(Activation activation, float slope, ConstMatrix y,
                                       float scale, MutMatrix grad) {
  check_same_shape(y, grad);
  const float* __restrict out = y.data;
  float* __restrict g = grad.data;
  if (activation == Activation::elu) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      g[i] *= choose(out[i] > 0.0F, 1.0F, out[i] / scale + 1.0F);
    }
    return;
  }
  TROUPE_ASSERT(activation == Activation::leaky_relu, "activation", static_cast<int>(activation));
  for (std::size_t i = 0; i < y.size(); ++i) {
    g[i] *= choose(out[i] > 0.0F, 1.0F, slope);
  }
}

TROUPE_HOT void layer_norm_rows(ConstMatrix x, std::span<const float> gain,
                                std::span<const float> bias, std::span<NormStats> stats,
                                MutMatrix y) {
  check_same_shape(x, y);
  TROUPE_ASSERT(gain.size() == x.cols && bias.size() == x.cols && stats.size() == x.rows,
                "layer norm", gain.size(), bias.size(), x.cols, stats.size(), x.rows);
  const auto n = static_cast<float>(x.cols);
  for (std::size_t r = 0; r < x.rows; ++r) {
    const float* in = x.row(r).data();
    float* out = y.row(r).data();
    const float mean = sum_in_lanes(x.cols, [in](std::size_t c) { return in[c]; }) / n;
    const float variance = sum_in_lanes(x.cols,
                                        [in, mean](std::size_t c) {
                                          const float d = in[c] - mean;
                                          return d * d;
                                        }) /
                           n;
    const float inverse_sd = 1.0F / std::sqrt(variance + layer_norm_eps);
    stats[r] = {mean, inverse_sd};
    for (std::size_t c = 0; c < x.cols; ++c) {
      out[c] = (in[c] - mean) * inverse_sd * gain[c] + bias[c];
    }
  }
}

TROUPE_HOT void layer_norm_backward_rows(ConstMatrix x, std::span<const NormStats> stats,
                                         std::span<const float> gain, MutMatrix grad,
                                         std::span<float> grad_gain, std::span<float> grad_bias) {
  check_same_shape(x, grad);
  TROUPE_ASSERT(gain.size() == x.cols && grad_gain.size() == x.cols && grad_bias.size() == x.cols &&
                    stats.size() == x.rows,
                "layer norm", gain.size(), grad_gain.size(), grad_bias.size(), x.cols, stats.size(),
                x.rows);
  std::ranges::fill(grad_gain, 0.0F);
  std::ranges::fill(grad_bias, 0.0F);
  const auto n = static_cast<float>(x.cols);
  float* __restrict sum_gain = grad_gain.data();
  float* __restrict sum_bias = grad_bias.data();
  const float* __restrict scale = gain.data();
  for (std::size_t r = 0; r < x.rows; ++r) {
    const float* __restrict in = x.row(r).data();
    float* __restrict g = grad.row(r).data();
    const auto [mean, inverse_sd] = stats[r];
    const float m = mean;
    const float s = inverse_sd;
    for (std::size_t c = 0; c < x.cols; ++c) {
      sum_gain[c] += g[c] * ((in[c] - m) * s);
      sum_bias[c] += g[c];
      g[c] *= scale[c];
    }
    const float mean_grad = sum_in_lanes(x.cols, [g](std::size_t c) { return g[c]; }) / n;
    const float slope =
        sum_in_lanes(x.cols, [g, in, m, s](std::size_t c) { return g[c] * ((in[c] - m) * s); }) / n;
    for (std::size_t c = 0; c < x.cols; ++c) {
      g[c] = s * (g[c] - mean_grad - (in[c] - m) * s * slope);
    }
  }
}

TROUPE_HOT void l2_normalize_rows(MutMatrix x, std::span<float> lengths) {
  TROUPE_ASSERT(lengths.size() == x.rows, "lengths", lengths.size(), x.rows);
  for (std::size_t r = 0; r < x.rows; ++r) {
    float* row = x.row(r).data();
    lengths[r] = std::sqrt(sum_in_lanes(x.cols, [row](std::size_t c) { return row[c] * row[c]; }));
    const float divisor = std::max(lengths[r], shortest_length);
    for (std::size_t c = 0; c < x.cols; ++c) {
      row[c] /= divisor;
    }
  }
}

TROUPE_HOT void l2_normalize_backward_rows(ConstMatrix y, std::span<const float> lengths,
                                           MutMatrix grad) {
  check_same_shape(y, grad);
  TROUPE_ASSERT(lengths.size() == y.rows, "lengths", lengths.size(), y.rows);
  for (std::size_t r = 0; r < y.rows; ++r) {
    const float* __restrict out = y.row(r).data();
    float* __restrict g = grad.row(r).data();
    const bool divided = lengths[r] > shortest_length;  // else the divisor is a constant
    const float along =
        divided ? sum_in_lanes(y.cols, [g, out](std::size_t c) { return g[c] * out[c]; }) : 0.0F;
    const float divisor = std::max(lengths[r], shortest_length);
    for (std::size_t c = 0; c < y.cols; ++c) {
      g[c] = (g[c] - along * out[c]) / divisor;
    }
  }
}

void join_columns(ConstMatrix left, ConstMatrix right, MutMatrix out) {
  TROUPE_ASSERT(
      left.rows == out.rows && right.rows == out.rows && left.cols + right.cols == out.cols,
      "joined columns", left.rows, left.cols, right.rows, right.cols, out.rows, out.cols);
  for (std::size_t r = 0; r < out.rows; ++r) {
    const auto end = std::ranges::copy(left.row(r), out.row(r).begin()).out;
    std::ranges::copy(right.row(r), end);
  }
}

}  // namespace troupe::nn
