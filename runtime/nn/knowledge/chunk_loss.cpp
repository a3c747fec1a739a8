#include "runtime/nn/knowledge/chunk_loss.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace troupe::nn {
namespace {

double cube_of_row(std::span<const float> row, double factor, std::span<float> grad) {
  double sum = 0;
  for (std::size_t c = 0; c < row.size(); ++c) {
    const double x = row[c];
    sum += std::abs(x) * x * x;
    grad[c] += static_cast<float>(3 * factor * std::abs(x) * x);
  }
  return sum;
}

double complex_cube_of_row(std::span<const float> row, double factor, std::span<float> grad) {
  const std::size_t half = row.size() / 2;
  double sum = 0;
  for (std::size_t k = 0; k < half; ++k) {
    const double re = row[k];
    const double im = row[half + k];
    const double modulus = std::sqrt(re * re + im * im);
    sum += modulus * modulus * modulus;
    grad[k] += static_cast<float>(3 * factor * modulus * re);
    grad[half + k] += static_cast<float>(3 * factor * modulus * im);
  }
  return sum;
}

double square_of_row(std::span<const float> row, double factor, std::span<float> grad) {
  double sum = 0;
  for (std::size_t c = 0; c < row.size(); ++c) {
    const double x = row[c];
    sum += x * x;
    grad[c] += static_cast<float>(2 * factor * x);
  }
  return sum;
}

}  // namespace

LossResult chunk_softmax(const LinkScores& scores, const LinkGradients& gradients) {
  const ConstMatrix& negative = scores.negative;
  TROUPE_ASSERT(negative.rows == scores.positive.size() &&
                    gradients.positive.size() == scores.positive.size() &&
                    gradients.negative.rows == negative.rows &&
                    gradients.negative.cols == negative.cols,
                "softmax of chunks", scores.positive.size(), negative.rows, negative.cols,
                gradients.positive.size(), gradients.negative.rows, gradients.negative.cols);
  LossResult result;
  for (std::size_t i = 0; i < scores.positive.size(); ++i) {
    const auto row = negative.row(i);
    const auto grad = gradients.negative.row(i);
    const float positive = scores.positive[i];
    // Differences of scores of any size fit float64. A NaN makes the sum one.
    double highest = positive;
    for (const float score : row) {
      highest = std::max(highest, static_cast<double>(score));
    }
    const double own = std::exp(positive - highest);
    double others = 0;
    for (const float score : row) {
      others += std::exp(static_cast<double>(score) - highest);
    }
    const double sum = own + others;
    for (std::size_t k = 0; k < row.size(); ++k) {
      grad[k] = static_cast<float>(std::exp(static_cast<double>(row[k]) - highest) / sum);
    }
    gradients.positive[i] = static_cast<float>(-others / sum);
    result.sum += std::log(sum) - (positive - highest);
  }
  result.weight = scores.positive.size();
  return result;
}

LossResult chunk_self_adversarial(const LinkScores& scores, double margin, double temperature,
                                  const LinkGradients& gradients, GrowBuffer<float>& memory) {
  const auto moved = memory.get(scores.positive.size() + scores.negative.size());
  const auto positive = moved.first(scores.positive.size());
  const auto negative = moved.subspan(scores.positive.size());
  const auto with_margin = [margin](float score) { return static_cast<float>(margin + score); };
  std::ranges::transform(scores.positive, positive.begin(), with_margin);
  std::ranges::transform(scores.negative.flat(), negative.begin(), with_margin);
  return link_self_adversarial(
      {positive, {negative.data(), scores.negative.rows, scores.negative.cols}}, temperature,
      gradients);
}

double regularize(Regularization kind, bool complex_rows, double factor, ConstMatrix rows,
                  MutMatrix grad) {
  TROUPE_ASSERT(rows.rows == grad.rows && rows.cols == grad.cols, "regularization", rows.rows,
                rows.cols, grad.rows, grad.cols);
  double sum = 0;
  for (std::size_t i = 0; kind != Regularization::none && i < rows.rows; ++i) {
    if (kind == Regularization::l2) {
      sum += square_of_row(rows.row(i), factor, grad.row(i));
    } else {
      sum += complex_rows ? complex_cube_of_row(rows.row(i), factor, grad.row(i))
                          : cube_of_row(rows.row(i), factor, grad.row(i));
    }
  }
  return sum;
}

}  // namespace troupe::nn
