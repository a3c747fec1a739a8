#pragma once
/// \file triple_loss_bodies.hpp
/// Kernel bodies of losses of triples against the candidates of a chunk (runtime/nn/knowledge/chunk_loss.hpp),
/// with their bits but for exponentials and logarithms of float64.
#include "gpu/base/shared.hpp"
#include "gpu/nn/learning_bodies.hpp"
#include "gpu/nn/loads_ahead.hpp"
#include "gpu/nn/row_bodies.hpp"
#include "runtime/nn/knowledge/lane_math.hpp"

#include <cmath>

namespace troupe::gpu {

/// Scores of a chunk with places for their gradients.
struct ScoredTriples {
  const float* positive;
  const float* negative;  ///< [triples, count]
  std::size_t count;      ///< candidates
  float* grad_positive;
  float* grad_negative;
};

/// The highest score of a triple's candidates, with that of its own or without; NaN are passed over.
struct HighestScore {
  static constexpr unsigned least_blocks = 1;
  ScoredTriples of;
  bool with_own;
  float* highest;
  TROUPE_HD void operator()(std::size_t i) const {
    const float* const row = of.negative + i * of.count;
    float most = with_own ? of.positive[i] : -HUGE_VALF;
    in_order<16, 8>(
        std::size_t{0}, of.count, [row](std::size_t k) { return row[k]; },
        [&most](std::size_t /*k*/, float score) { most = score > most ? score : most; });
    highest[i] = most;
  }
};
struct ExponentialOfScore {
  ScoredTriples of;
  const float* highest;
  float scale;
  float* out;
  TROUPE_HD void operator()(std::size_t i, std::size_t k) const {
    const std::size_t at = i * of.count + k;
    out[at] = nn::exp_below_zero(scale * (of.negative[at] - highest[i]));
  }
};

/// A triple among its candidates, whose gradients are exponentials still.
struct SoftmaxOfTriple {
  ScoredTriples of;
  const float* highest;
  float* sums;
  double* terms;
  TROUPE_HD void operator()(std::size_t i) const {
    const float* const row = of.grad_negative + i * of.count;
    const float others = lane_sum(of.count, [row](std::size_t k) { return row[k]; });
    const float positive = of.positive[i];
    const float sum = others + nn::exp_below_zero(positive - highest[i]);
    sums[i] = sum;
    of.grad_positive[i] = -others / sum;
    terms[i] = log(static_cast<double>(sum)) +
               (static_cast<double>(highest[i]) - static_cast<double>(positive));
  }
};
struct ShareOfSum {
  ScoredTriples of;
  const float* sums;
  TROUPE_HD void operator()(std::size_t i, std::size_t k) const {
    of.grad_negative[i * of.count + k] /= sums[i];
  }
};

/// The loss of a candidate by its share of the exponentials, whose place it takes.
struct CandidateLoss {
  ScoredTriples of;
  float margin;
  const float* sums;
  float* shares;
  TROUPE_HD void operator()(std::size_t i, std::size_t k) const {
    const std::size_t at = i * of.count + k;
    const float x = margin + of.negative[at];
    const float e = nn::exp_below_zero(x > 0 ? -x : x);
    const float logistic = 1.0F / (1.0F + e);
    const float share = shares[at] / sums[i];
    of.grad_negative[at] = 0.5F * share * (x > 0 ? logistic : e * logistic);
    shares[at] = share * ((x > 0 ? x : 0.0F) + nn::log_of_one_and(e));
  }
};
struct AdversarialTriple {
  ScoredTriples of;
  double margin;
  const float* losses;  ///< [triples, count] of candidates
  double* terms;
  TROUPE_HD void operator()(std::size_t i) const {
    const float* const row = losses + i * of.count;
    const float of_row = lane_sum(of.count, [row](std::size_t k) { return row[k]; });
    const double positive = margin + static_cast<double>(of.positive[i]);
    of.grad_positive[i] = static_cast<float>(-0.5 * sigmoid_of(-positive));
    terms[i] = 0.5 * (softplus_of(-positive) + static_cast<double>(of_row));
  }
};

}  // namespace troupe::gpu
