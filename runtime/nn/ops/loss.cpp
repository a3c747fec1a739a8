#include "runtime/nn/ops/loss.hpp"

#include "runtime/nn/ops/logistic.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::nn {
namespace {

/// Loss of one labelled row; `grad` gets weight * (softmax - one-hot).
double cross_entropy_row(std::span<const float> logits, std::size_t label, double weight,
                         std::span<float> grad) {
  const double highest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(static_cast<double>(logit) - highest);
  }
  for (std::size_t c = 0; c < logits.size(); ++c) {
    const double probability = std::exp(static_cast<double>(logits[c]) - highest) / sum;
    grad[c] = static_cast<float>(weight * (probability - (c == label ? 1.0 : 0.0)));
  }
  return weight * (std::log(sum) + highest - static_cast<double>(logits[label]));
}

}  // namespace

LossResult cross_entropy(ConstMatrix logits, std::span<const std::int64_t> labels,
                         MutMatrix grad_logits, std::span<const std::uint64_t> class_weights) {
  TROUPE_ASSERT(labels.size() == logits.rows && grad_logits.rows == logits.rows &&
                    grad_logits.cols == logits.cols,
                "cross entropy", logits.rows, logits.cols, labels.size(), grad_logits.rows,
                grad_logits.cols);
  TROUPE_ASSERT(class_weights.empty() || class_weights.size() == logits.cols, "class weights",
                class_weights.size(), "classes", logits.cols);
  LossResult result;
  for (std::size_t r = 0; r < logits.rows; ++r) {
    const std::int64_t label = labels[r];
    if (label == -1) {
      std::ranges::fill(grad_logits.row(r), 0.0F);
      continue;
    }
    TROUPE_ASSERT(label >= 0 && static_cast<std::size_t>(label) < logits.cols, "label", label,
                  "classes", logits.cols, "row", r);
    const auto of_class = static_cast<std::size_t>(label);
    const std::uint64_t weight = class_weights.empty() ? 1 : class_weights[of_class];
    if (weight == 0) {
      std::ranges::fill(grad_logits.row(r), 0.0F);
      continue;
    }
    result.sum +=
        cross_entropy_row(logits.row(r), of_class, static_cast<double>(weight), grad_logits.row(r));
    result.weight += weight;
  }
  return result;
}

LossResult bce_logits(ConstMatrix logits, ConstMatrix targets, const BceWeights& weights,
                      MutMatrix grad_logits) {
  TROUPE_ASSERT(targets.rows == logits.rows && targets.cols == logits.cols &&
                    grad_logits.rows == logits.rows && grad_logits.cols == logits.cols,
                "bce", logits.rows, logits.cols, targets.rows, targets.cols, grad_logits.rows,
                grad_logits.cols);
  const auto of_column = weights.of_column;
  TROUPE_ASSERT(of_column.empty() || of_column.size() == logits.cols, "weights", of_column.size(),
                "columns", logits.cols);
  LossResult result;
  const double p = weights.positive;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double x = logits.data[i];
    const double y = targets.data[i];
    if (std::isnan(y)) {
      grad_logits.data[i] = 0;
      continue;
    }
    const double w = of_column.empty() ? 1 : static_cast<double>(of_column[i % logits.cols]);
    result.weight += weights.unit;
    result.sum += w * (p * y * softplus(-x) + (1 - y) * softplus(x));
    grad_logits.data[i] = static_cast<float>(w * ((1 - y) * sigmoid(x) - p * y * sigmoid(-x)));
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
