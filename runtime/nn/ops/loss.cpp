#include "runtime/nn/ops/loss.hpp"

#include "runtime/nn/ops/logistic.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::nn {
namespace {

/// Loss of one labelled row; `grad` gets softmax - one-hot.
double cross_entropy_row(std::span<const float> logits, std::size_t label, std::span<float> grad) {
  const double highest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(static_cast<double>(logit) - highest);
  }
  for (std::size_t c = 0; c < logits.size(); ++c) {
    const double probability = std::exp(static_cast<double>(logits[c]) - highest) / sum;
    grad[c] = static_cast<float>(probability - (c == label ? 1.0 : 0.0));
  }
  return std::log(sum) + highest - static_cast<double>(logits[label]);
}

}  // namespace

LossResult cross_entropy(ConstMatrix logits, std::span<const std::int64_t> labels,
                         MutMatrix grad_logits) {
  TROUPE_ASSERT(labels.size() == logits.rows && grad_logits.rows == logits.rows &&
                    grad_logits.cols == logits.cols,
                "cross entropy", logits.rows, logits.cols, labels.size(), grad_logits.rows,
                grad_logits.cols);
  LossResult result;
  for (std::size_t r = 0; r < logits.rows; ++r) {
    const std::int64_t label = labels[r];
    if (label == -1) {
      std::ranges::fill(grad_logits.row(r), 0.0F);
      continue;
    }
    TROUPE_ASSERT(label >= 0 && static_cast<std::size_t>(label) < logits.cols, "label", label,
                  "classes", logits.cols, "row", r);
    result.sum +=
        cross_entropy_row(logits.row(r), static_cast<std::size_t>(label), grad_logits.row(r));
    ++result.weight;
  }
  return result;
}

LossResult bce_logits(ConstMatrix logits, ConstMatrix targets, float pos_weight,
                      MutMatrix grad_logits) {
  TROUPE_ASSERT(targets.rows == logits.rows && targets.cols == logits.cols &&
                    grad_logits.rows == logits.rows && grad_logits.cols == logits.cols,
                "bce", logits.rows, logits.cols, targets.rows, targets.cols, grad_logits.rows,
                grad_logits.cols);
  LossResult result;
  const double p = pos_weight;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double x = logits.data[i];
    const double y = targets.data[i];
    if (std::isnan(y)) {
      grad_logits.data[i] = 0;
      continue;
    }
    ++result.weight;
    result.sum += p * y * softplus(-x) + (1 - y) * softplus(x);
    grad_logits.data[i] = static_cast<float>((1 - y) * sigmoid(x) - p * y * sigmoid(-x));
  }
  return result;
}

LossResult number_loss(const NumberLoss& loss, ConstMatrix outputs, ConstMatrix targets,
                       MutMatrix grad) {
  TROUPE_ASSERT(targets.rows == outputs.rows && targets.cols == outputs.cols &&
                    grad.rows == outputs.rows && grad.cols == outputs.cols,
                "loss of numbers", outputs.rows, outputs.cols, targets.rows, targets.cols,
                grad.rows, grad.cols);
  LossResult result;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool known = !std::isnan(targets.data[i]);
    const double difference = static_cast<double>(outputs.data[i]) - (known ? targets.data[i] : 0);
    const NumberTerm term = number_term(loss, difference);
    grad.data[i] = known ? static_cast<float>(term.slope) : 0.0F;
    result.sum += known ? term.loss : 0;
    result.weight += known ? 1U : 0U;
  }
  return result;
}

}  // namespace troupe::nn
