#pragma once
/// \file optimizer_step.hpp
/// One step of an optimizer over the elements of a flat parameter vector. An element's bits depend on
/// that element alone. Which numbers a step has: optimizer.cpp.
#include <cstdint>
#include <span>

namespace troupe::nn {

enum class StepRule : std::uint8_t { sgd, momentum, adam, adagrad };

/// What a step has for all elements.
struct OptimizerStep {
  StepRule rule = StepRule::sgd;
  float rate = 0;
  float decay = 0;         ///< times the parameter, is added to the gradient
  float momentum = 0;      ///< of what the buffer holds
  float own_share = 0;     ///< of the gradient beside that of the buffer, with momentum
  float buffer_share = 1;  ///< of the buffer
  float shrink = 1;        ///< of parameters before the step, with adam
  float beta1 = 0;
  float beta2 = 0;
  float share1 = 0;  ///< 1 - beta1
  float share2 = 0;  ///< 1 - beta2
  float root = 1;    ///< square root of the correction of the squares
  float eps = 0;
};

/// All of one size, in the memory of the functions that compute the step.
struct StepArrays {
  std::span<float> parameters;
  std::span<const float> gradient;
  const float* factor = nullptr;  ///< of the gradient; null: 1
  std::span<float> first =
      {};  ///< momentum: the buffer; adam: the mean; adagrad: the sum of squares
  std::span<float> second = {};  ///< adam: the mean of squares
};

/// On the CPU.
void optimizer_step(const OptimizerStep& step, const StepArrays& arrays);

}  // namespace troupe::nn
