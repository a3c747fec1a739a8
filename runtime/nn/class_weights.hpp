#pragma once
/// \file class_weights.hpp
/// What the loss of a seed of each class counts in the mean of a step (PyTorch's `weight` of
/// cross_entropy), as whole numbers, whose sums over ranks have the same bits in any order.
#include "runtime/base/result.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::nn {

struct ClassWeights {
  std::vector<std::uint64_t> of_class = {};  ///< [classes], or [labels] of targets; empty: none
  std::uint64_t unit = 1;                    ///< The number that a weight of 1 became

  bool given() const { return !of_class.empty(); }
};

/// The weights times a power of two, rounded, with a positive one never 0. The power is as large as
/// sums over `terms` of them allow, but at most 2^40.
/// \param weights  not negative
/// \param terms    at most so many are added
/// \errors invalid_argument: no weight is positive, or one is not finite or negative; more terms than
///   whole numbers have room for
Result<ClassWeights> whole_class_weights(std::span<const double> weights, std::uint64_t terms);

/// n / (classes * count) of each class, where the n seeds have `counts`; 0 for a class without seeds.
std::vector<double> balanced_class_weights(std::span<const std::uint64_t> counts);

/// The same ratios with 1 for the largest. A mean that is divided by the sum of the weights depends on
/// ratios alone. \requires a positive weight
std::vector<double> relative_weights(std::vector<double> weights);

}  // namespace troupe::nn
