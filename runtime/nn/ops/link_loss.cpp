#include "runtime/nn/ops/link_loss.hpp"

#include "runtime/nn/ops/logistic.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace troupe::nn {
namespace {

/// Loss of one true link, `share` of its binary cross entropy.
double positive_term(double score, double share, float& grad) {
  grad = static_cast<float>(-share * sigmoid(-score));
  return share * softplus(-score);
}

/// Loss of one false link.
double negative_term(double score, double share, float& grad) {
  grad = static_cast<float>(share * sigmoid(score));
  return share * softplus(score);
}

/// `shares` = softmax(temperature * scores), in float64.
void softmax_shares(std::span<const float> scores, double temperature, std::span<double> shares) {
  double highest = -HUGE_VAL;
  for (const float score : scores) {
    highest = std::max(highest, temperature * static_cast<double>(score));
  }
  double sum = 0;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    shares[k] = std::exp(temperature * static_cast<double>(scores[k]) - highest);
    sum += shares[k];
  }
  for (double& share : shares) {
    share /= sum;
  }
}

}  // namespace

void check_link_shapes(const LinkScores& scores, const LinkGradients& gradients) {
  const ConstMatrix& negative = scores.negative;
  TROUPE_ASSERT(negative.rows == scores.positive.size() &&
                    gradients.positive.size() == scores.positive.size() &&
                    gradients.negative.rows == negative.rows &&
                    gradients.negative.cols == negative.cols,
                "link loss", scores.positive.size(), negative.rows, negative.cols,
                gradients.positive.size(), gradients.negative.rows, gradients.negative.cols);
}

LossResult link_bce(const LinkScores& scores, const LinkGradients& gradients) {
  check_link_shapes(scores, gradients);
  LossResult result;
  for (std::size_t i = 0; i < scores.positive.size(); ++i) {
    result.sum += positive_term(scores.positive[i], 1, gradients.positive[i]);
    const auto row = scores.negative.row(i);
    const auto grad = gradients.negative.row(i);
    for (std::size_t k = 0; k < row.size(); ++k) {
      result.sum += negative_term(row[k], 1, grad[k]);
    }
  }
  result.weight = scores.positive.size() + scores.negative.size();
  return result;
}

LossResult link_bce_balanced(const LinkScores& scores, const LinkGradients& gradients) {
  check_link_shapes(scores, gradients);
  const double share = 0.5 / static_cast<double>(std::max<std::size_t>(1, scores.negative.cols));
  LossResult result;
  for (std::size_t i = 0; i < scores.positive.size(); ++i) {
    result.sum += positive_term(scores.positive[i], 0.5, gradients.positive[i]);
    const auto row = scores.negative.row(i);
    const auto grad = gradients.negative.row(i);
    for (std::size_t k = 0; k < row.size(); ++k) {
      result.sum += negative_term(row[k], share, grad[k]);
    }
  }
  result.weight = scores.positive.size();
  return result;
}

LossResult link_margin(const LinkScores& scores, double margin, const LinkGradients& gradients) {
  check_link_shapes(scores, gradients);
  LossResult result;
  for (std::size_t i = 0; i < scores.positive.size(); ++i) {
    const double positive = scores.positive[i];
    const auto row = scores.negative.row(i);
    const auto grad = gradients.negative.row(i);
    std::uint64_t missed = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const double lacking = margin - positive + static_cast<double>(row[k]);
      const bool kept = lacking <= 0;  // false for NaN, which is to show in the sum
      grad[k] = kept ? 0.0F : 1.0F;
      result.sum += kept ? 0.0 : lacking;
      missed += kept ? 0U : 1U;
    }
    gradients.positive[i] = -static_cast<float>(missed);
  }
  result.weight = scores.negative.size();
  return result;
}

LossResult link_self_adversarial(const LinkScores& scores, double temperature,
                                 const LinkGradients& gradients) {
  check_link_shapes(scores, gradients);
  std::vector<double> shares(scores.negative.cols);
  LossResult result;
  for (std::size_t i = 0; i < scores.positive.size(); ++i) {
    result.sum += positive_term(scores.positive[i], 0.5, gradients.positive[i]);
    const auto row = scores.negative.row(i);
    const auto grad = gradients.negative.row(i);
    softmax_shares(row, temperature, shares);
    for (std::size_t k = 0; k < row.size(); ++k) {
      result.sum += negative_term(row[k], 0.5 * shares[k], grad[k]);
    }
  }
  result.weight = scores.positive.size();
  return result;
}

LossResult link_softmax(const LinkScores& scores, const LinkGradients& gradients) {
  check_link_shapes(scores, gradients);
  const std::size_t negatives = scores.negative.cols;
  std::vector<float> row(negatives + 1);
  std::vector<double> shares(negatives + 1);
  LossResult result;
  for (std::size_t i = 0; i < scores.positive.size(); ++i) {
    row[0] = scores.positive[i];
    std::ranges::copy(scores.negative.row(i), row.begin() + 1);
    const double highest = *std::ranges::max_element(row);
    double sum = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      shares[k] = std::exp(static_cast<double>(row[k]) - highest);
      sum += shares[k];
    }
    result.sum += std::log(sum) + highest - static_cast<double>(row[0]);
    gradients.positive[i] = static_cast<float>(shares[0] / sum - 1);
    const auto grad = gradients.negative.row(i);
    for (std::size_t k = 0; k < negatives; ++k) {
      grad[k] = static_cast<float>(shares[k + 1] / sum);
    }
  }
  result.weight = scores.positive.size();
  return result;
}

std::uint64_t link_terms(LinkRule rule, std::size_t links, std::size_t negatives) {
  switch (rule) {
    case LinkRule::bce:
      return links + links * negatives;
    case LinkRule::margin:
      return links * negatives;
    case LinkRule::balanced:
    case LinkRule::self_adversarial:
    case LinkRule::softmax:
      break;
  }
  return links;
}

LossResult link_loss(const LinkLoss& loss, const LinkScores& scores,
                     const LinkGradients& gradients) {
  switch (loss.rule) {
    case LinkRule::bce:
      break;
    case LinkRule::balanced:
      return link_bce_balanced(scores, gradients);
    case LinkRule::margin:
      return link_margin(scores, loss.margin, gradients);
    case LinkRule::self_adversarial:
      return link_self_adversarial(scores, loss.temperature, gradients);
    case LinkRule::softmax:
      return link_softmax(scores, gradients);
  }
  return link_bce(scores, gradients);
}

}  // namespace troupe::nn
