#pragma once
/// \file loss.hpp
/// Losses over a batch's seeds, as sums (ranks divide by the total number of terms after reducing).
#include "runtime/base/matrix.hpp"

#include <cstdint>
#include <span>

namespace troupe::nn {

struct LossResult {
  double sum = 0;  ///< of the losses
  /// Number of terms: labelled seeds, or known targets. With weights of classes the sum of theirs.
  std::uint64_t weight = 0;
};

/// Softmax cross entropy: sum over rows with label != -1 of -log softmax(logits)[label].
/// \param logits      [n, classes]
/// \param labels      [n], in -1..classes-1 (asserted)
/// \param grad_logits [n, classes], written: gradient of the sum; 0 in unlabelled rows
/// \param class_weights  [classes] what the loss of a row of each class is multiplied by; rows of a
///   class with 0 count as unlabelled. Empty: 1
LossResult cross_entropy(ConstMatrix logits, std::span<const std::int64_t> labels,
                         MutMatrix grad_logits, std::span<const std::uint64_t> class_weights = {});

struct BceWeights {
  float positive = 1;                             ///< Of terms with target 1
  std::span<const std::uint64_t> of_column = {};  ///< [columns] of all terms; empty: 1
  std::uint64_t unit = 1;                         ///< Weight of a term in the mean
};

/// Binary cross entropy of logits: sum over known targets of c*(p*y*softplus(-x) + (1-y)*softplus(x)).
/// \param targets     y, shape of the logits; NaN: unknown, loss and gradient 0
/// \param weights     p, and c of the target's column
/// \param grad_logits written: gradient of the sum
LossResult bce_logits(ConstMatrix logits, ConstMatrix targets, const BceWeights& weights,
                      MutMatrix grad_logits);
inline LossResult bce_logits(ConstMatrix logits, ConstMatrix targets, float pos_weight,
                             MutMatrix grad_logits) {
  return bce_logits(logits, targets, BceWeights{.positive = pos_weight}, grad_logits);
}

/// Loss of a number, with d = output - number.
enum class NumberRule : std::uint8_t {
  squared,   ///< d^2
  absolute,  ///< |d|; its slope is 0 at 0
  huber,     ///< d^2 / 2 where |d| < delta, else delta * (|d| - delta / 2)
};

struct NumberLoss {
  NumberRule rule = NumberRule::squared;
  double delta = 1;  ///< of huber; positive
};

struct NumberTerm {
  double loss;
  double slope;  ///< derivative by the output
};

/// The term of one number, for CPU and devices.
constexpr NumberTerm number_term(const NumberLoss& loss, double difference) {
  if (loss.rule == NumberRule::squared) {
    return {difference * difference, 2 * difference};
  }
  const double length = difference < 0 ? -difference : difference;
  const double sign = difference > 0 ? 1.0 : difference < 0 ? -1.0 : difference;
  if (loss.rule == NumberRule::absolute) {
    return {length, sign};
  }
  if (length < loss.delta) {
    return {0.5 * difference * difference, difference};
  }
  return {loss.delta * (length - 0.5 * loss.delta), loss.delta * sign};
}

/// Sum over known numbers of number_term().
/// \param targets  numbers, shape of the outputs; NaN: unknown, loss and gradient 0
/// \param grad     written: gradient of the sum
LossResult number_loss(const NumberLoss& loss, ConstMatrix outputs, ConstMatrix targets,
                       MutMatrix grad);

}  // namespace troupe::nn
