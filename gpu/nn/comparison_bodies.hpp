#pragma once
/// \file comparison_bodies.hpp
/// Kernel bodies of comparisons of queries with candidates and their gradients
/// (runtime/nn/knowledge/pair_scores.hpp), with their bits.
#include "gpu/base/shared.hpp"
#include "gpu/nn/loads_ahead.hpp"
#include "gpu/nn/row_bodies.hpp"
#include "runtime/nn/knowledge/pair_scores.hpp"

#include <cmath>

namespace troupe::gpu {

/// Queries and candidates, rows of `cols` columns.
struct Compared {
  nn::Comparison comparison;
  const float* queries;
  const float* candidates;
  std::size_t cols;

  TROUPE_HD const float* query(std::size_t i) const { return queries + i * cols; }
  TROUPE_HD const float* candidate(std::size_t j) const { return candidates + j * cols; }
};

/// A comparison's score in the order of lane_sum().
TROUPE_HD inline float score_of_rows(nn::Comparison comparison, const float* q, const float* c,
                                     std::size_t cols) {
  if (comparison == nn::Comparison::product) {
    return lane_sum(cols, [q, c](std::size_t k) { return q[k] * c[k]; });
  }
  if (comparison == nn::Comparison::distance_1) {
    return -lane_sum(cols, [q, c](std::size_t k) { return fabsf(q[k] - c[k]); });
  }
  if (comparison == nn::Comparison::distance_2) {
    return -sqrtf(lane_sum(cols, [q, c](std::size_t k) { return (q[k] - c[k]) * (q[k] - c[k]); }));
  }
  const std::size_t half = cols / 2;
  return -lane_sum(half, [q, c, half](std::size_t k) {
    const float re = q[k] - c[k];
    const float im = q[half + k] - c[half + k];
    return sqrtf(re * re + im * im);
  });
}

/// scores[i] of query i and candidate i.
struct ScoreInPairs {
  Compared of;
  float* scores;
  TROUPE_HD void operator()(std::size_t i) const {
    scores[i] = score_of_rows(of.comparison, of.query(i), of.candidate(i), of.cols);
  }
};

/// scores[i, j] of distances without products, column by column.
struct DistanceOfAll {
  static constexpr unsigned least_blocks = 2;
  Compared of;
  std::size_t count;  ///< candidates
  float* scores;
  struct Loaded {
    float re;
    float im;
  };
  TROUPE_HD void operator()(std::size_t i, std::size_t j) const {
    const float* const q = of.query(i);
    const float* const c = of.candidate(j);
    const bool moduli = of.comparison == nn::Comparison::moduli;
    const std::size_t half = of.cols / 2;
    float sum = 0;
    in_order<8, 4>(
        std::size_t{0}, moduli ? half : of.cols,
        [q, c, half, moduli](std::size_t k) {
          return Loaded{c[k] - q[k], moduli ? c[half + k] - q[half + k] : 0.0F};
        },
        [&sum, moduli](std::size_t /*k*/, const Loaded& at) {
          sum += moduli ? sqrtf(at.re * at.re + at.im * at.im) : fabsf(at.re);
        });
    scores[i * count + j] = -sum;
  }
};

/// squares[r] of a row's length.
struct SquareOfRow {
  const float* x;
  std::size_t cols;
  float* squares;
  TROUPE_HD void operator()(std::size_t r) const {
    const float* const row = x + r * cols;
    squares[r] = lane_sum(cols, [row](std::size_t k) { return row[k] * row[k]; });
  }
};

/// Products become distances; near ones, whose digits products lose, are made of differences.
struct EuclideanScore {
  Compared of;
  const float* of_queries;     ///< squares
  const float* of_candidates;  ///< squares
  std::size_t count;           ///< candidates
  float* scores;
  TROUPE_HD void operator()(std::size_t i, std::size_t j) const {
    float& score = scores[i * count + j];
    const float terms = of_queries[i] + of_candidates[j];
    const float square = terms - 2.0F * score;
    score = square < nn::near_share * terms
                ? score_of_rows(nn::Comparison::distance_2, of.query(i), of.candidate(j), of.cols)
                : -sqrtf(square);
  }
};

/// Gradients over distances; those of near pairs are 0 and marked.
struct EuclideanShare {
  const float* of_queries;
  const float* of_candidates;
  std::size_t count;
  const float* scores;
  const float* grad;
  float* shares;
  std::uint8_t* near;
  TROUPE_HD void operator()(std::size_t i, std::size_t j) const {
    const std::size_t at = i * count + j;
    const float score = scores[at];
    const bool is_near =
        score * score <= 2.0F * nn::near_share * (of_queries[i] + of_candidates[j]);
    near[at] = is_near && score < 0 ? 1 : 0;
    shares[at] = is_near ? 0.0F : grad[at] / -score;
  }
};
/// sums[r] of a row, in lanes.
struct SumOfRow {
  const float* x;
  std::size_t cols;
  float* sums;
  TROUPE_HD void operator()(std::size_t r) const {
    const float* const row = x + r * cols;
    sums[r] = lane_sum(cols, [row](std::size_t k) { return row[k]; });
  }
};
/// out[r, c] -= x[r, c] * factor of the row.
struct TakeScaled {
  const float* x;
  const float* factors;
  std::size_t cols;
  float* out;
  TROUPE_HD void operator()(std::size_t r, std::size_t c) const {
    out[r * cols + c] += x[r * cols + c] * -factors[r];
  }
};

/// The gradient of a pair at column k, by the query; by the candidate it is the opposite, but of products.
struct PairStep {
  float by_query;
  float by_candidate;
};
TROUPE_HD inline PairStep step_of_pair(nn::Comparison comparison, float q, float c, float score,
                                       float grad) {
  if (comparison == nn::Comparison::product) {
    return {c * grad, q * grad};
  }
  const float difference = q - c;
  if (comparison == nn::Comparison::distance_1) {
    const float step = difference > 0 ? grad : (difference < 0 ? -grad : 0.0F);
    return {-step, step};
  }
  const float share = score < 0 ? grad / -score : 0.0F;
  const float step = share * difference;
  return {-step, step};
}
/// The same of the moduli of a number, by the candidate.
struct ModulusStep {
  float re;
  float im;
};
TROUPE_HD inline ModulusStep step_of_modulus(const float* q, const float* c, std::size_t half,
                                             float grad) {
  const float re = q[0] - c[0];
  const float im = q[half] - c[half];
  const float modulus = sqrtf(re * re + im * im);
  const float share = modulus > 0 ? grad / modulus : 0.0F;
  return {share * re, share * im};
}

/// Adds the gradients of ScoreInPairs: of moduli a number a call, else a column.
struct InPairsBackward {
  Compared of;
  const float* scores;
  const float* grad;
  float* to_queries;
  float* to_candidates;
  TROUPE_HD void operator()(std::size_t i, std::size_t k) const {
    const std::size_t at = i * of.cols + k;
    if (of.comparison == nn::Comparison::moduli) {
      const std::size_t half = of.cols / 2;
      const auto step = step_of_modulus(of.queries + at, of.candidates + at, half, grad[i]);
      to_queries[at] -= step.re;
      to_queries[at + half] -= step.im;
      to_candidates[at] += step.re;
      to_candidates[at + half] += step.im;
      return;
    }
    const auto step =
        step_of_pair(of.comparison, of.queries[at], of.candidates[at], scores[i], grad[i]);
    to_queries[at] += step.by_query;
    to_candidates[at] += step.by_candidate;
  }
};

/// Adds the gradients of some of all pairs to one side, pair after pair: of moduli a number a call, else a
/// column.
struct AllPairsBackward {
  static constexpr unsigned least_blocks = 2;
  Compared of;
  std::size_t queries;
  std::size_t candidates;
  const float* scores;       ///< [queries, candidates]
  const float* grad;         ///< the same
  const std::uint8_t* some;  ///< the pairs that are added; null: all
  bool to_queries;           ///< The side of `out`
  float* out;
  TROUPE_HD void operator()(std::size_t r, std::size_t k) const {
    const std::size_t end = to_queries ? candidates : queries;
    const std::size_t half = of.cols / 2;
    float* const to = out + r * of.cols + k;
    float re = to[0];
    float im = of.comparison == nn::Comparison::moduli ? to[half] : 0.0F;
    for (std::size_t other = 0; other < end; ++other) {
      const std::size_t i = to_queries ? r : other;
      const std::size_t j = to_queries ? other : r;
      const std::size_t pair = i * candidates + j;
      if (some != nullptr && some[pair] == 0) {
        continue;
      }
      const float* const q = of.query(i) + k;
      const float* const c = of.candidate(j) + k;
      if (of.comparison == nn::Comparison::moduli) {
        const auto step = step_of_modulus(q, c, half, grad[pair]);
        re = to_queries ? re - step.re : re + step.re;
        im = to_queries ? im - step.im : im + step.im;
      } else {
        const auto step = step_of_pair(of.comparison, *q, *c, scores[pair], grad[pair]);
        re += to_queries ? step.by_query : step.by_candidate;
      }
    }
    to[0] = re;
    if (of.comparison == nn::Comparison::moduli) {
      to[half] = im;
    }
  }
};

}  // namespace troupe::gpu
