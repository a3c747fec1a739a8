#include "runtime/nn/knowledge/chunk_loss.hpp"

#include "runtime/base/hot.hpp"
#include "runtime/nn/knowledge/float_lanes.hpp"
#include "runtime/nn/knowledge/lane_math.hpp"
#include "runtime/nn/ops/logistic.hpp"
#include "runtime/nn/ops/row_kernels.hpp"

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

/// Takes and gives back numbers at any address.
[[gnu::always_inline]] inline Floats& lanes_at(float* row) {
  return *reinterpret_cast<Floats*>(row);
}
[[gnu::always_inline]] inline const Floats& lanes_at(const float* row) {
  return *reinterpret_cast<const Floats*>(row);
}

/// The highest score of a row, at least `least`; NaN are passed over.
TROUPE_HOT float highest_of(const float* __restrict row, std::size_t n, float least) {
  const Floats zero = {};
  Floats highest = zero + least;
  const std::size_t whole = n / floats * floats;
  for (std::size_t k = 0; k < whole; k += floats) {
    const Floats x = lanes_at(row + k);
    choose(x > highest, x, highest, highest);
  }
  for (std::size_t k = whole; k < n; ++k) {
    least = row[k] > least ? row[k] : least;
  }
  for (std::size_t lane = 0; lane < floats; ++lane) {
    least = highest[lane] > least ? highest[lane] : least;
  }
  return least;
}

/// out[k] = e^(scale * (row[k] - highest)). \returns their sum
TROUPE_HOT float exponentials(const float* __restrict row, std::size_t n, float scale,
                              float highest, float* __restrict out) {
  const std::size_t whole = n / floats * floats;
  for (std::size_t k = 0; k < whole; k += floats) {
    Floats x = scale * (lanes_at(row + k) - highest);
    exp_below_zero_lanes(x);
    lanes_at(out + k) = x;
  }
  for (std::size_t k = whole; k < n; ++k) {
    out[k] = exp_below_zero(scale * (row[k] - highest));
  }
  return sum_in_lanes(n, [out](std::size_t k) { return out[k]; });
}

/// Weights the losses of negatives, softplus(margin + score), by shares[k] / sum; grad[k] becomes
/// half of their gradient. \param shares  become the weighted losses \returns their sum
TROUPE_HOT float negative_losses(const float* __restrict scores, std::size_t n, float margin,
                                 float sum, float* __restrict shares, float* __restrict grad) {
  const std::size_t whole = n / floats * floats;
  const Floats zero = {};
  for (std::size_t k = 0; k < whole; k += floats) {
    const Floats x = margin + lanes_at(scores + k);
    const FloatBits above = x > 0.0F;
    Floats e;
    choose(above, -x, x, e);
    exp_below_zero_lanes(e);
    const Floats logistic = 1.0F / (1.0F + e);
    const Floats share = lanes_at(shares + k) / sum;
    Floats slope;
    choose(above, logistic, e * logistic, slope);
    lanes_at(grad + k) = 0.5F * share * slope;
    Floats linear;
    choose(above, x, zero, linear);
    log_of_one_and_lanes(e);
    lanes_at(shares + k) = share * (linear + e);
  }
  for (std::size_t k = whole; k < n; ++k) {
    const float x = margin + scores[k];
    const float e = exp_below_zero(x > 0 ? -x : x);
    const float logistic = 1.0F / (1.0F + e);
    const float share = shares[k] / sum;
    grad[k] = 0.5F * share * (x > 0 ? logistic : e * logistic);
    shares[k] = share * ((x > 0 ? x : 0.0F) + log_of_one_and(e));
  }
  return sum_in_lanes(n, [shares](std::size_t k) { return shares[k]; });
}

}  // namespace

LossResult chunk_softmax(const LinkScores& scores, const LinkGradients& gradients) {
  check_link_shapes(scores, gradients);
  LossResult result;
  for (std::size_t i = 0; i < scores.positive.size(); ++i) {
    const auto row = scores.negative.row(i);
    const auto grad = gradients.negative.row(i);
    const float positive = scores.positive[i];
    const float highest = highest_of(row.data(), row.size(), positive);
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
  check_link_shapes(scores, gradients);
  const std::size_t n = scores.negative.cols;
  const auto shares = memory.get(n);
  LossResult result;
  for (std::size_t i = 0; i < scores.positive.size(); ++i) {
    const double positive = margin + static_cast<double>(scores.positive[i]);
    gradients.positive[i] = static_cast<float>(-0.5 * sigmoid(-positive));
    const float* row = scores.negative.row(i).data();
    const float highest = highest_of(row, n, -HUGE_VALF);
    const float sum = exponentials(row, n, static_cast<float>(temperature), highest, shares.data());
    const float of_row = negative_losses(row, n, static_cast<float>(margin), sum, shares.data(),
                                         gradients.negative.row(i).data());
    result.sum += 0.5 * (softplus(-positive) + static_cast<double>(of_row));
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
