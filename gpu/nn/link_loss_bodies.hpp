#pragma once
/// \file link_loss_bodies.hpp
/// Kernel bodies of losses of links (runtime/nn/ops/link_loss.hpp), with their bits but for exponentials
/// and logarithms.
#include "gpu/base/shared.hpp"
#include "gpu/nn/learning_bodies.hpp"
#include "gpu/nn/loads_ahead.hpp"

#include <cmath>

namespace troupe::gpu {

/// Scores of links in device memory, with places for their gradients. Column 0 of a link is its own, the
/// others those of its negatives.
struct ScoredLinks {
  const float* positive;
  const float* negative;  ///< [links, negatives]
  std::size_t negatives;
  float* grad_positive;
  float* grad_negative;

  TROUPE_HD double score(std::size_t link, std::size_t column) const {
    return column == 0 ? positive[link] : negative[link * negatives + column - 1];
  }
  TROUPE_HD void put_grad(std::size_t link, std::size_t column, double grad) const {
    float* const at =
        column == 0 ? grad_positive + link : grad_negative + link * negatives + column - 1;
    *at = static_cast<float>(grad);
  }
};

/// The binary cross entropy of a score, `share` of it. \returns the term
TROUPE_HD inline double put_binary(const ScoredLinks& links, std::size_t link, std::size_t column,
                                   double share) {
  const double score = links.score(link, column);
  if (column == 0) {
    links.put_grad(link, column, -share * sigmoid_of(-score));
    return share * softplus_of(-score);
  }
  links.put_grad(link, column, share * sigmoid_of(score));
  return share * softplus_of(score);
}

struct BinaryLink {
  ScoredLinks links;
  double of_positive;
  double of_negative;
  double* terms;  ///< [links, 1 + negatives]
  TROUPE_HD void operator()(std::size_t link, std::size_t column) const {
    terms[link * (1 + links.negatives) + column] =
        put_binary(links, link, column, column == 0 ? of_positive : of_negative);
  }
};

/// Softmax over columns of a link: its largest exponent and the sum of exponentials beside it.
struct LinkSoftmax {
  const double* largest;  ///< [links]
  const double* sums;
};
/// These, of the columns from `begin` on.
struct LinkExponentials {
  static constexpr unsigned least_blocks = 1;
  ScoredLinks links;
  std::size_t begin;  ///< 1: of the negatives alone
  double temperature;
  double* largest;
  double* sums;
  TROUPE_HD void operator()(std::size_t link) const {
    const std::size_t end = 1 + links.negatives;
    double most = -HUGE_VAL;
    in_order<16, 8>(
        begin, end, [this, link](std::size_t c) { return temperature * links.score(link, c); },
        [&most](std::size_t /*c*/, double exponent) { most = most < exponent ? exponent : most; });
    double sum = 0;
    in_order<4, 4>(
        begin, end,
        [this, link, most](std::size_t c) {
          return exp(temperature * links.score(link, c) - most);
        },
        [&sum](std::size_t /*c*/, double exponential) { sum += exponential; });
    largest[link] = most;
    sums[link] = sum;
  }
};

struct AdversarialLink {
  ScoredLinks links;
  LinkSoftmax softmax;
  double temperature;
  double* terms;  ///< [links, 1 + negatives]
  TROUPE_HD void operator()(std::size_t link, std::size_t column) const {
    double share = 1;
    if (column > 0) {
      const double above = temperature * links.score(link, column) - softmax.largest[link];
      share = exp(above) / softmax.sums[link];
    }
    terms[link * (1 + links.negatives) + column] = put_binary(links, link, column, 0.5 * share);
  }
};

/// The term of a negative that is not as far below its link as the margin says.
struct MarginTerm {
  ScoredLinks links;
  double margin;
  double* terms;  ///< [links, negatives]
  TROUPE_HD void operator()(std::size_t link, std::size_t k) const {
    const double lacking = margin - links.score(link, 0) + links.score(link, 1 + k);
    const bool kept = lacking <= 0;  // false for NaN
    links.put_grad(link, 1 + k, kept ? 0.0 : 1.0);
    terms[link * links.negatives + k] = kept ? 0.0 : lacking;
  }
};
/// The gradient of a link: minus the number of its negatives that have one.
struct MarginLink {
  static constexpr unsigned least_blocks = 1;
  ScoredLinks links;
  TROUPE_HD void operator()(std::size_t link) const {
    std::uint64_t missed = 0;
    in_order<8, 8>(
        std::size_t{0}, links.negatives,
        [this, link](std::size_t k) { return links.grad_negative[link * links.negatives + k]; },
        [&missed](std::size_t /*k*/, float grad) { missed += grad == 0.0F ? 0U : 1U; });
    links.grad_positive[link] = -static_cast<float>(missed);
  }
};

struct SoftmaxTerm {
  ScoredLinks links;
  LinkSoftmax softmax;
  double* terms;  ///< [links]
  TROUPE_HD void operator()(std::size_t link) const {
    terms[link] = log(softmax.sums[link]) + softmax.largest[link] - links.score(link, 0);
  }
};
struct SoftmaxGradient {
  ScoredLinks links;
  LinkSoftmax softmax;
  TROUPE_HD void operator()(std::size_t link, std::size_t column) const {
    const double above = links.score(link, column) - softmax.largest[link];
    const double share = exp(above) / softmax.sums[link];
    links.put_grad(link, column, column == 0 ? share - 1 : share);
  }
};

}  // namespace troupe::gpu
