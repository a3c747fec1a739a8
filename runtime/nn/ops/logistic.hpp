#pragma once
/// \file logistic.hpp
/// The logistic function and its integral, as losses of logits need them, in float64.
#include <algorithm>
#include <cmath>

namespace troupe::nn {

/// log(1 + e^x) without overflow, = -log sigmoid(-x).
inline double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

/// 1 / (1 + e^-x) without overflow, the derivative of softplus.
inline double sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

}  // namespace troupe::nn
