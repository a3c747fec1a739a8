#pragma once
/// \file row_ops.hpp
/// Operations on rows between layers: activations, layer normalization, division by the row's length. All
/// run on the calling thread; a row's bits depend on that row alone. Backward functions turn the
/// gradient of the output into that of the input, in place.
#include "runtime/base/matrix.hpp"

#include <cstdint>
#include <span>

namespace troupe::nn {

inline constexpr float layer_norm_eps = 1e-5F;
inline constexpr float shortest_length = 1e-12F;  ///< that rows are divided by

/// y = max(x, 0); NaN stays NaN, so that a diverged model shows. `x` and `y` may be the same
/// memory.
void relu_rows(ConstMatrix x, MutMatrix y);

/// ReLU's gradient, also of ReLU followed by dropout.
/// \param y what came out, dropout included: elements above 0 pass
/// \param scale of the elements that pass: 1, or 1 / (1 - p)
void relu_backward_rows(ConstMatrix y, float scale, MutMatrix grad);

/// Functions of single elements that end a layer.
enum class Activation : std::uint8_t {
  none,
  relu,        ///< max(x, 0)
  elu,         ///< x above 0, else exp(x) - 1 (Clevert et al., 2016, with alpha 1)
  leaky_relu,  ///< x above 0, else slope x
  gelu,        ///< x times the normal distribution function at x (Hendrycks and Gimpel, 2016)
};

/// y = the activation of x, for all but ReLU; NaN stays NaN. `x` and `y` may be the same
/// memory.
/// \param slope  of leaky ReLU below 0
void activate_rows(Activation activation, float slope, ConstMatrix x, MutMatrix y);

/// The gradient of activate_rows(), at 0 that of the side below.
/// \param y      its result, times `scale`
/// \param scale  of a dropout between; dropped elements have a gradient of 0 already
void activate_backward_rows(Activation activation, float slope, ConstMatrix y, float scale,
                            MutMatrix grad);

/// The gradient of GELU. \param x  what it was computed from
void gelu_backward_rows(ConstMatrix x, MutMatrix grad);

/// What layer_norm_rows keeps of a row.
struct NormStats {
  float mean = 0;
  float inverse_sd = 0;
};

/// y = gain (x - mean) / sqrt(variance + 1e-5) + bias, per row, with the biased variance (Ba,
/// Kiros, Hinton: "Layer normalization", 2016).
/// \param stats [rows], written
/// \param y may be the same memory as x
void layer_norm_rows(ConstMatrix x, std::span<const float> gain, std::span<const float> bias,
                     std::span<NormStats> stats, MutMatrix y);

/// \param grad_gain,grad_bias [cols], overwritten: sums over these rows
void layer_norm_backward_rows(ConstMatrix x, std::span<const NormStats> stats,
                              std::span<const float> gain, MutMatrix grad,
                              std::span<float> grad_gain, std::span<float> grad_bias);

/// Divides each row by max(its Euclidean length, 1e-12), in place.
/// \param lengths [rows], written
void l2_normalize_rows(MutMatrix x, std::span<float> lengths);

/// \param y what l2_normalize_rows made
void l2_normalize_backward_rows(ConstMatrix y, std::span<const float> lengths, MutMatrix grad);

/// out [n, l + r] = rows of left [n, l], each with that of right [n, r] behind it.
void join_columns(ConstMatrix left, ConstMatrix right, MutMatrix out);

}  // namespace troupe::nn
