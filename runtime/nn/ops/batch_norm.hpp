#pragma once
/// \file batch_norm.hpp
/// Batch normalization (Ioffe and Szegedy: "Batch normalization", 2015): columns of the rows of one
/// batch get mean 0 and variance 1, then a gain and a bias, then the activation and dropout of a
/// layer's end.
#include "runtime/base/executor.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/finish.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"

#include <cstddef>
#include <span>

namespace troupe::nn {

inline constexpr float batch_norm_eps = 1e-5F;

struct BatchNorm {
  ConstMatrix x;
  std::span<const float> gain;  ///< [cols]
  std::span<const float> bias;  ///< [cols]
  /// Training: mean and variance are those of `x`, computed; else the running ones, given.
  bool training = false;
  std::span<float> mean;      ///< [cols]
  std::span<float> variance;  ///< [cols] biased
  Finish after;               ///< activation and dropout alone
};

/// In training writes mean and variance of the columns: sums over chunks of rows, added in order.
/// No rows: 0 and 1.
void batch_statistics(Executor& executor, const BatchNorm& norm, GrowBuffer<float>& partials);

/// out = after(gain (x - mean) / sqrt(variance + 1e-5) + bias).
/// \param state  begin_finish() made it of `after` and `out`
void batch_norm(Executor& executor, const BatchNorm& norm, const FinishState& state, MutMatrix out);

/// Turns `grad` of the result into the gradient of `x`, in place; in training through the statistics too.
/// \returns [2 * cols] gradients of gain and bias; valid until the next call with `scratch`
std::span<const float> batch_norm_backward(Executor& executor, const BatchNorm& norm,
                                           const FinishState& state, MutMatrix grad,
                                           FinishScratch& scratch);

}  // namespace troupe::nn
