#pragma once
/// \file clip.hpp
/// Gradient clipping by the length of the whole gradient (Pascanu, Mikolov, Bengio: "On the
/// difficulty of training recurrent neural networks", ICML 2013), as PyTorch's clip_grad_norm_.
#include <span>

namespace troupe::nn {

/// Euclidean length, in float64 over fixed chunks in order: the same bits everywhere.
double gradient_length(std::span<const float> gradient);

/// What a gradient of this length is multiplied by: min(1, limit / (length + 1e-6)). NaN for a
/// length that is NaN, so that a diverged model shows.
double clip_factor(double length, double limit);

}  // namespace troupe::nn
