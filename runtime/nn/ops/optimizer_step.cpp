#include "runtime/nn/ops/optimizer_step.hpp"

#include <cmath>
#include <cstddef>

namespace troupe::nn {
namespace {

// Numbers of a step come by value, so that they stay in registers. \param g  g(i) is element i of the gradient

template <class Gradient>
void sgd_step(const OptimizerStep step, const StepArrays& arrays, const Gradient& g) {
  float* __restrict p = arrays.parameters.data();
  const std::size_t size = arrays.parameters.size();
  for (std::size_t i = 0; i < size; ++i) {
    p[i] -= step.rate * (g(i) + step.decay * p[i]);
  }
}

/// buf = momentum * buf + g; p -= rate * buf, or with Nesterov rate * (g + momentum * buf).
template <class Gradient>
void momentum_step(const OptimizerStep step, const StepArrays& arrays, const Gradient& g) {
  float* __restrict p = arrays.parameters.data();
  float* __restrict buf = arrays.first.data();
  const std::size_t size = arrays.parameters.size();
  for (std::size_t i = 0; i < size; ++i) {
    const float slope = g(i) + step.decay * p[i];
    buf[i] = step.momentum * buf[i] + slope;
    p[i] -= step.rate * (step.own_share * slope + step.buffer_share * buf[i]);
  }
}

template <class Gradient>
void adam_step(const OptimizerStep step, const StepArrays& arrays, const Gradient& g) {
  float* __restrict p = arrays.parameters.data();
  float* __restrict m = arrays.first.data();
  float* __restrict v = arrays.second.data();
  const std::size_t size = arrays.parameters.size();
  for (std::size_t i = 0; i < size; ++i) {
    const float value = p[i] * step.shrink;
    const float slope = g(i) + step.decay * value;
    m[i] = step.beta1 * m[i] + step.share1 * slope;
    v[i] = step.beta2 * v[i] + step.share2 * slope * slope;
    p[i] = value - step.rate * (m[i] / (std::sqrt(v[i]) / step.root + step.eps));
  }
}

/// sum += g * g; p -= rate * g / (sqrt(sum) + eps).
template <class Gradient>
void adagrad_step(const OptimizerStep step, const StepArrays& arrays, const Gradient& g) {
  float* __restrict p = arrays.parameters.data();
  float* __restrict sum = arrays.first.data();
  const std::size_t size = arrays.parameters.size();
  for (std::size_t i = 0; i < size; ++i) {
    const float slope = g(i) + step.decay * p[i];
    sum[i] += slope * slope;
    p[i] -= step.rate * (slope / (std::sqrt(sum[i]) + step.eps));
  }
}

template <class Gradient>
void step_of_rule(const OptimizerStep& step, const StepArrays& arrays, const Gradient& g) {
  switch (step.rule) {
    case StepRule::sgd:
      return sgd_step(step, arrays, g);
    case StepRule::momentum:
      return momentum_step(step, arrays, g);
    case StepRule::adam:
      return adam_step(step, arrays, g);
    case StepRule::adagrad:
      return adagrad_step(step, arrays, g);
  }
}

}  // namespace

void optimizer_step(const OptimizerStep& step, const StepArrays& arrays) {
  const float* const gradient = arrays.gradient.data();
  if (arrays.factor == nullptr) {
    return step_of_rule(step, arrays, [gradient](std::size_t i) { return gradient[i]; });
  }
  const float factor = *arrays.factor;
  step_of_rule(step, arrays, [gradient, factor](std::size_t i) { return gradient[i] * factor; });
}

}  // namespace troupe::nn
