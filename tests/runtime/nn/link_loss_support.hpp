#pragma once
/// \file link_loss_support.hpp
/// Scores of links with room for their gradients, and definitions of losses in plain float64.
#include "runtime/nn/ops/link_loss.hpp"
#include "tests/runtime/nn/nn_support.hpp"

#include <cmath>
#include <cstdint>
#include <span>

namespace troupe::nn::testing {

struct OwnedScores {
  Matrix positive;
  Matrix negative;
  Matrix grad_positive = Matrix(positive.rows(), 1);
  Matrix grad_negative = Matrix(negative.rows(), negative.cols());

  LinkScores scores() const { return {positive.view().flat(), negative.view()}; }
  LinkGradients grads() { return {grad_positive.view().flat(), grad_negative.view()}; }
};

/// Uniform in [-1, 1).
inline OwnedScores random_scores(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  return {.positive = random_matrix(rows, 1, seed),
          .negative = random_matrix(rows, cols, seed + 1)};
}

/// Expects the gradients to be those of `loss`, which reads the scores.
template <class Loss>
void expect_score_differences(OwnedScores& at, const Loss& loss) {
  const Differences how{.step = 0x1p-10F, .tolerance = 1e-6};
  expect_differences(at.positive.view().flat(), at.grad_positive.view().flat(), loss, how,
                     "positive");
  expect_differences(at.negative.view().flat(), at.grad_negative.view().flat(), loss, how,
                     "negative");
}

inline double minus_log_sigmoid(double x) {
  return std::log(1 + std::exp(-x));
}

inline double twin_of_softmax(std::span<const float> positive, ConstMatrix negative) {
  double sum = 0;
  for (std::size_t i = 0; i < positive.size(); ++i) {
    double all = std::exp(static_cast<double>(positive[i]));
    for (const float score : negative.row(i)) {
      all += std::exp(static_cast<double>(score));
    }
    sum -= std::log(std::exp(static_cast<double>(positive[i])) / all);
  }
  return sum;
}

/// As kge.py of the peers has it: margin + positive, -margin - negative.
/// \param fixed  the scores that the softmax without gradient reads
inline double twin_of_self_adversarial(std::span<const float> positive, ConstMatrix negative,
                                       ConstMatrix fixed, double margin, double temperature) {
  double sum = 0;
  for (std::size_t i = 0; i < positive.size(); ++i) {
    double all = 0;
    for (const float score : fixed.row(i)) {
      all += std::exp(temperature * score);
    }
    sum += minus_log_sigmoid(margin + positive[i]) / 2;
    for (std::size_t k = 0; k < negative.cols; ++k) {
      const double share = std::exp(temperature * fixed.row(i)[k]) / all;
      sum += share * minus_log_sigmoid(-margin - negative.row(i)[k]) / 2;
    }
  }
  return sum;
}

}  // namespace troupe::nn::testing
