#include "runtime/nn/knowledge/chunk_loss.hpp"

#include "runtime/base/hot.hpp"
#include "runtime/nn/knowledge/lane_math.hpp"
#include "runtime/nn/ops/logistic.hpp"

#include <array>
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

/// The highest score of a row, at least `least`; NaN are passed over.
float highest_of(std::span<const float> row, float least) {
  for (const float score : row) {
    least = score > least ? score : least;
  }
  return least;
}

/// out[k] = e^(scale * (row[k] - highest)). \returns their sum: 16 running sums, then these in order
TROUPE_HOT float exponentials(const float* __restrict row, std::size_t n, float scale,
                              float highest, float* __restrict out) {
  constexpr std::size_t lanes = 16;
  for (std::size_t k = 0; k < n; ++k) {
    out[k] = exp_below_zero(scale * (row[k] - highest));
  }
  std::array<float, lanes> sums{};
  const std::size_t whole = n / lanes * lanes;
  for (std::size_t k = 0; k < whole; k += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      sums[lane] += out[k + lane];
    }
  }
  for (std::size_t k = whole; k < n; ++k) {
    sums[k - whole] += out[k];
  }
  float total = 0;
  for (const float sum : sums) {
    total += sum;
  }
  return total;
}

/// Losses of negatives: softplus(margin + score), whose derivative becomes the gradient.
TROUPE_HOT void negative_losses(const float* __restrict scores, std::size_t n, float margin,
                                float* __restrict loss, float* __restrict grad) {
  for (std::size_t k = 0; k < n; ++k) {
    const float x = margin + scores[k];
    const float e = exp_below_zero(x > 0 ? -x : x);
    const float share = 1.0F / (1.0F + e);
    loss[k] = (x > 0 ? x : 0.0F) + log_of_one_and(e);
    grad[k] = x > 0 ? share : e * share;
  }
}

void check_chunk(const LinkScores& scores, const LinkGradients& gradients) {
  const ConstMatrix& negative = scores.negative;
  TROUPE_ASSERT(negative.rows == scores.positive.size() &&
                    gradients.positive.size() == scores.positive.size() &&
                    gradients.negative.rows == negative.rows &&
                    gradients.negative.cols == negative.cols,
                "loss of a chunk", scores.positive.size(), negative.rows, negative.cols,
                gradients.positive.size(), gradients.negative.rows, gradients.negative.cols);
}

}  // namespace

LossResult chunk_softmax(const LinkScores& scores, const LinkGradients& gradients) {
  check_chunk(scores, gradients);
  LossResult result;
  for (std::size_t i = 0; i < scores.positive.size(); ++i) {
    const auto row = scores.negative.row(i);
    const auto grad = gradients.negative.row(i);
    const float positive = scores.positive[i];
    const float highest = highest_of(row, positive);
    const float others = exponentials(row.data(), row.size(), 1, highest, grad.data());
    const float sum = others + exp_below_zero(positive - highest);
    for (float& share : grad) {
      share /= sum;
    }
    gradients.positive[i] = -others / sum;
    // In float64, where the difference of any two scores is finite.
    result.sum += std::log(static_cast<double>(sum)) +
                  (static_cast<double>(highest) - static_cast<double>(positive));
  }
  result.weight = scores.positive.size();
  return result;
}

LossResult chunk_self_adversarial(const LinkScores& scores, double margin, double temperature,
                                  const LinkGradients& gradients, GrowBuffer<float>& memory) {
  check_chunk(scores, gradients);
  const std::size_t n = scores.negative.cols;
  const auto scratch = memory.get(2 * n);
  const auto shares = scratch.first(n);
  const auto losses = scratch.subspan(n);
  LossResult result;
  for (std::size_t i = 0; i < scores.positive.size(); ++i) {
    const double positive = margin + static_cast<double>(scores.positive[i]);
    gradients.positive[i] = static_cast<float>(-0.5 * sigmoid(-positive));
    const auto row = scores.negative.row(i);
    const auto grad = gradients.negative.row(i);
    const float highest = highest_of(row, -HUGE_VALF);
    const float sum =
        exponentials(row.data(), n, static_cast<float>(temperature), highest, shares.data());
    negative_losses(row.data(), n, static_cast<float>(margin), losses.data(), grad.data());
    double of_row = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const float share = shares[k] / sum;
      of_row += static_cast<double>(share) * static_cast<double>(losses[k]);
      grad[k] *= 0.5F * share;
    }
    result.sum += 0.5 * (softplus(-positive) + of_row);
  }
  result.weight = scores.positive.size();
  return result;
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
