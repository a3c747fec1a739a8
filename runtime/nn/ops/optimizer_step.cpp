#include "runtime/nn/ops/optimizer_step.hpp"

#include <cmath>
#include <cstddef>

namespace troupe::nn {
namespace {

float factor_of(const StepArrays& arrays) {
  return arrays.factor == nullptr ? 1.0F : *arrays.factor;
}

void sgd_step(const OptimizerStep& step, const StepArrays& arrays) {
  float* __restrict p = arrays.parameters.data();
  const float* __restrict g = arrays.gradient.data();
  const float factor = factor_of(arrays);
  for (std::size_t i = 0; i < arrays.parameters.size(); ++i) {
    p[i] -= step.rate * (g[i] * factor + step.decay * p[i]);
  }
}

/// buf = momentum * buf + g; p -= rate * buf, or with Nesterov rate * (g + momentum * buf).
void momentum_step(const OptimizerStep& step, const StepArrays& arrays) {
  float* __restrict p = arrays.parameters.data();
  const float* __restrict g = arrays.gradient.data();
  float* __restrict buf = arrays.first.data();
  const float factor = factor_of(arrays);
  for (std::size_t i = 0; i < arrays.parameters.size(); ++i) {
    const float slope = g[i] * factor + step.decay * p[i];
    buf[i] = step.momentum * buf[i] + slope;
    p[i] -= step.rate * (step.own_share * slope + step.buffer_share * buf[i]);
  }
}

void adam_step(const OptimizerStep& step, const StepArrays& arrays) {
  float* __restrict p = arrays.parameters.data();
  const float* __restrict g = arrays.gradient.data();
  float* __restrict m = arrays.first.data();
  float* __restrict v = arrays.second.data();
  const float factor = factor_of(arrays);
  for (std::size_t i = 0; i < arrays.parameters.size(); ++i) {
    const float value = p[i] * step.shrink;
    const float slope = g[i] * factor + step.decay * value;
    m[i] = step.beta1 * m[i] + step.share1 * slope;
    v[i] = step.beta2 * v[i] + step.share2 * slope * slope;
    p[i] = value - step.rate * (m[i] / (std::sqrt(v[i]) / step.root + step.eps));
  }
}

/// sum += g * g; p -= rate * g / (sqrt(sum) + eps).
void adagrad_step(const OptimizerStep& step, const StepArrays& arrays) {
  float* __restrict p = arrays.parameters.data();
  const float* __restrict g = arrays.gradient.data();
  float* __restrict sum = arrays.first.data();
  const float factor = factor_of(arrays);
  for (std::size_t i = 0; i < arrays.parameters.size(); ++i) {
    const float slope = g[i] * factor + step.decay * p[i];
    sum[i] += slope * slope;
    p[i] -= step.rate * (slope / (std::sqrt(sum[i]) + step.eps));
  }
}

}  // namespace

void optimizer_step(const OptimizerStep& step, const StepArrays& arrays) {
  switch (step.rule) {
    case StepRule::sgd:
      return sgd_step(step, arrays);
    case StepRule::momentum:
      return momentum_step(step, arrays);
    case StepRule::adam:
      return adam_step(step, arrays);
    case StepRule::adagrad:
      return adagrad_step(step, arrays);
  }
}

}  // namespace troupe::nn
