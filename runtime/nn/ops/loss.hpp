#pragma once
/// \file loss.hpp
/// Losses over a batch's seeds, as sums (ranks divide by the total number of terms after reducing).
#include "runtime/base/matrix.hpp"

#include <cstdint>
#include <span>

namespace troupe::nn {

struct LossResult {
  double sum = 0;            ///< of the losses
  std::uint64_t weight = 0;  ///< number of terms: labelled seeds, or known targets
};

/// Softmax cross entropy: sum over rows with label != -1 of -log softmax(logits)[label].
/// \param logits      [n, classes]
/// \param labels      [n], in -1..classes-1 (asserted)
/// \param grad_logits [n, classes], written: gradient of the sum; 0 in unlabelled rows
LossResult cross_entropy(ConstMatrix logits, std::span<const std::int64_t> labels,
                         MutMatrix grad_logits);

/// Binary cross entropy of logits: sum over known targets of p*y*softplus(-x) + (1-y)*softplus(x).
/// \param targets     y, shape of the logits; NaN: unknown, loss and gradient 0
/// \param pos_weight  p
/// \param grad_logits written: gradient of the sum
LossResult bce_logits(ConstMatrix logits, ConstMatrix targets, float pos_weight,
                      MutMatrix grad_logits);

/// Squared error: sum over known targets of (x - y)^2.
/// \param targets  y, shape of the outputs; NaN: unknown, loss and gradient 0
/// \param grad     written: gradient of the sum
LossResult squared_error(ConstMatrix outputs, ConstMatrix targets, MutMatrix grad);

}  // namespace troupe::nn
