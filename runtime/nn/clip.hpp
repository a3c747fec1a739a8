#pragma once
/// \file clip.hpp
/// Gradient clipping by the length of the whole gradient (Pascanu, Mikolov, Bengio: "On the
/// difficulty of training recurrent neural networks", ICML 2013), as PyTorch's clip_grad_norm_.
#include <cstddef>
#include <span>

namespace troupe::nn {

// The length's order: within each chunk of elements so many running sums, then those in order.
inline constexpr std::size_t clip_chunk = 16384;
inline constexpr std::size_t clip_lanes = 8;

/// Euclidean length, in float64 over fixed chunks in order: the same bits everywhere.
double gradient_length(std::span<const float> gradient);

/// What a gradient of this length is multiplied by: min(1, limit / (length + 1e-6)). NaN for a
/// length that is NaN, so that a diverged model shows.
constexpr double clip_factor(double length, double limit) {
  const double factor = limit / (length + 1e-6);
  return factor > 1 ? 1 : factor;
}

}  // namespace troupe::nn
