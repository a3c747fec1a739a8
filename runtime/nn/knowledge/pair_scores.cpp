#include "runtime/nn/knowledge/pair_scores.hpp"

#include "runtime/base/executor.hpp"
#include "runtime/base/hot.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/nn/ops/row_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace troupe::nn {
namespace {

[[gnu::always_inline]] inline float score_of_pair(Comparison comparison, const float* __restrict q,
                                                  const float* __restrict c, std::size_t cols) {
  const auto difference = [q, c](std::size_t i) { return q[i] - c[i]; };
  switch (comparison) {
    case Comparison::product:
      return dot_row(q, c, cols);
    case Comparison::distance_1:
      return -sum_in_lanes(cols, [&](std::size_t i) { return std::abs(difference(i)); });
    case Comparison::distance_2:
      return -std::sqrt(
          sum_in_lanes(cols, [&](std::size_t i) { return difference(i) * difference(i); }));
    case Comparison::moduli:
      const std::size_t half = cols / 2;
      return -sum_in_lanes(half, [&](std::size_t i) {
        return std::sqrt(difference(i) * difference(i) +
                         difference(half + i) * difference(half + i));
      });
  }
  return 0;
}

/// Adds the gradient of -Σ|q - c|, times `grad`.
void add_sign_rows(const float* __restrict q, const float* __restrict c, float grad,
                   float* __restrict to_q, float* __restrict to_c, std::size_t cols) {
  for (std::size_t i = 0; i < cols; ++i) {
    const float difference = q[i] - c[i];
    const float step = difference > 0 ? grad : (difference < 0 ? -grad : 0.0F);
    to_q[i] -= step;
    to_c[i] += step;
  }
}

/// Adds the gradient of -Σ|q_k - c_k|, times `grad`.
void add_direction_rows(const float* __restrict q, const float* __restrict c, float grad,
                        float* __restrict to_q, float* __restrict to_c, std::size_t half) {
  for (std::size_t i = 0; i < half; ++i) {
    const float re = q[i] - c[i];
    const float im = q[half + i] - c[half + i];
    const float modulus = std::sqrt(re * re + im * im);
    const float share = modulus > 0 ? grad / modulus : 0.0F;
    to_q[i] -= share * re;
    to_q[half + i] -= share * im;
    to_c[i] += share * re;
    to_c[half + i] += share * im;
  }
}

/// Adds `share` (c - q) to the query's gradient and the opposite to the candidate's.
void add_difference_rows(const float* __restrict q, const float* __restrict c, float share,
                         float* __restrict to_q, float* __restrict to_c, std::size_t cols) {
  for (std::size_t i = 0; i < cols; ++i) {
    const float step = share * (q[i] - c[i]);
    to_q[i] -= step;
    to_c[i] += step;
  }
}

struct OnePair {
  const float* q;
  const float* c;
  float* to_q;
  float* to_c;
};

void add_pair_gradient(Comparison comparison, const OnePair& pair, float score, float grad,
                       std::size_t cols) {
  switch (comparison) {
    case Comparison::product:
      add_scaled_row(pair.c, grad, pair.to_q, cols);
      add_scaled_row(pair.q, grad, pair.to_c, cols);
      return;
    case Comparison::distance_1:
      add_sign_rows(pair.q, pair.c, grad, pair.to_q, pair.to_c, cols);
      return;
    case Comparison::distance_2:
      add_difference_rows(pair.q, pair.c, score < 0 ? grad / -score : 0.0F, pair.to_q, pair.to_c,
                          cols);
      return;
    case Comparison::moduli:
      add_direction_rows(pair.q, pair.c, grad, pair.to_q, pair.to_c, cols / 2);
      return;
  }
}

/// 16 floats side by side, at any address.
typedef float Floats  // NOLINT: `using` takes no size
    __attribute__((vector_size(64), aligned(4), may_alias));
typedef std::int32_t FloatBits __attribute__((vector_size(64), may_alias));  // NOLINT
constexpr std::size_t floats = 16;
constexpr std::size_t vectors = RowTiles::width / floats;

[[gnu::always_inline]] inline void square_roots(Floats& x) {
  auto* values = reinterpret_cast<float*>(&x);
#if defined(__AVX512F__)
  _mm512_storeu_ps(values, _mm512_maskz_sqrt_ps(0xFFFF, _mm512_loadu_ps(values)));
#elif defined(__AVX2__)
  _mm256_storeu_ps(values, _mm256_sqrt_ps(_mm256_loadu_ps(values)));
  _mm256_storeu_ps(values + 8, _mm256_sqrt_ps(_mm256_loadu_ps(values + 8)));
#else
  for (std::size_t i = 0; i < floats; ++i) {
    values[i] = std::sqrt(values[i]);
  }
#endif
}

TROUPE_HOT void absolute_tile(const float* row, const float* tile, std::size_t cols, float* out) {
  Floats sums[vectors] = {};
  for (std::size_t k = 0; k < cols; ++k) {
    const float x = row[k];
    for (std::size_t v = 0; v < vectors; ++v) {
      const Floats difference =
          *reinterpret_cast<const Floats*>(tile + k * RowTiles::width + v * floats) - x;
      sums[v] += reinterpret_cast<Floats>(reinterpret_cast<FloatBits>(difference) & 0x7FFFFFFF);
    }
  }
  for (std::size_t v = 0; v < vectors; ++v) {
    *reinterpret_cast<Floats*>(out + v * floats) = sums[v];
  }
}

TROUPE_HOT void modulus_tile(const float* row, const float* tile, std::size_t half, float* out) {
  Floats sums[vectors] = {};
  const float* imaginary = tile + half * RowTiles::width;
  for (std::size_t k = 0; k < half; ++k) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const std::size_t at = k * RowTiles::width + v * floats;
      const Floats re = *reinterpret_cast<const Floats*>(tile + at) - row[k];
      const Floats im = *reinterpret_cast<const Floats*>(imaginary + at) - row[half + k];
      Floats modulus = re * re + im * im;
      square_roots(modulus);
      sums[v] += modulus;
    }
  }
  for (std::size_t v = 0; v < vectors; ++v) {
    *reinterpret_cast<Floats*>(out + v * floats) = sums[v];
  }
}

TROUPE_HOT void hinge_tile(const float* row, const float* factors, const float* tile,
                           std::size_t cols, float* out) {
  const Floats zero = {};
  Floats sums[vectors] = {};
  for (std::size_t k = 0; k < cols; ++k) {
    const float x = row[k];
    const float factor = factors[k];
    for (std::size_t v = 0; v < vectors; ++v) {
      const Floats sum =
          *reinterpret_cast<const Floats*>(tile + k * RowTiles::width + v * floats) + x;
      const auto kept = ~reinterpret_cast<FloatBits>(sum < zero);
      sums[v] += reinterpret_cast<Floats>(reinterpret_cast<FloatBits>(sum) & kept) * factor;
    }
  }
  for (std::size_t v = 0; v < vectors; ++v) {
    *reinterpret_cast<Floats*>(out + v * floats) = sums[v];
  }
}

void check_pairs(ConstMatrix queries, ConstMatrix candidates, ConstMatrix scores) {
  TROUPE_ASSERT(scores.rows == queries.rows && scores.cols == candidates.rows &&
                    queries.cols == candidates.cols,
                "scores of pairs", scores.rows, scores.cols, queries.rows, queries.cols,
                candidates.rows, candidates.cols);
}

void fill_zero(MutMatrix m) {
  std::ranges::fill(m.flat(), 0.0F);
}

}  // namespace

void scores_in_pairs(Comparison comparison, ConstMatrix queries, ConstMatrix candidates,
                     std::span<float> scores) {
  TROUPE_ASSERT(queries.rows == candidates.rows && queries.cols == candidates.cols &&
                    scores.size() == queries.rows,
                "pairs", queries.rows, queries.cols, candidates.rows, candidates.cols,
                scores.size());
  for (std::size_t i = 0; i < queries.rows; ++i) {
    scores[i] =
        score_of_pair(comparison, queries.row(i).data(), candidates.row(i).data(), queries.cols);
  }
}

void pairs_backward(Comparison comparison, ConstMatrix queries, ConstMatrix candidates,
                    std::span<const float> scores, std::span<const float> grad,
                    const PairSides& into) {
  TROUPE_ASSERT(scores.size() == queries.rows && grad.size() == queries.rows &&
                    into.queries.size() == queries.size() &&
                    into.candidates.size() == candidates.size(),
                "gradients of pairs", scores.size(), grad.size(), queries.rows);
  for (std::size_t i = 0; i < queries.rows; ++i) {
    add_pair_gradient(comparison,
                      {queries.row(i).data(), candidates.row(i).data(), into.queries.row(i).data(),
                       into.candidates.row(i).data()},
                      scores[i], grad[i], queries.cols);
  }
}

void RowTiles::assign(ConstMatrix rows) {
  if (rows.cols != cols_ || (rows.rows + width - 1) / width > values_.rows()) {
    values_ = Matrix((rows.rows + width - 1) / width, rows.cols * width);
  }
  rows_ = rows.rows;
  cols_ = rows.cols;
  for (std::size_t i = 0; i < count() * width; ++i) {
    float* out = values_.data() + i / width * cols_ * width + i % width;
    for (std::size_t k = 0; k < cols_; ++k) {
      out[k * width] = i < rows_ ? rows.row(i)[k] : 0.0F;
    }
  }
}

void tile_distances(Comparison comparison, std::span<const float> row, const float* tile,
                    std::array<float, RowTiles::width>& out) {
  TROUPE_ASSERT(comparison == Comparison::distance_1 || comparison == Comparison::moduli,
                "distances without products", static_cast<int>(comparison));
  if (comparison == Comparison::distance_1) {
    absolute_tile(row.data(), tile, row.size(), out.data());
  } else {
    modulus_tile(row.data(), tile, row.size() / 2, out.data());
  }
}

void tile_hinges(std::span<const float> row, std::span<const float> factors, const float* tile,
                 std::array<float, RowTiles::width>& out) {
  TROUPE_ASSERT(row.size() == factors.size(), "hinges", row.size(), factors.size());
  hinge_tile(row.data(), factors.data(), tile, row.size(), out.data());
}

void AllPairs::forward(Comparison comparison, ConstMatrix queries, ConstMatrix candidates,
                       MutMatrix scores) {
  check_pairs(queries, candidates, scores);
  if (scores.size() == 0) {
    return;
  }
  if (comparison == Comparison::product) {
    linear_rows(queries, candidates, scores, Into::overwrite, precision_);
    return;
  }
  if (comparison == Comparison::distance_2) {
    euclidean_forward(queries, candidates, scores);
    return;
  }
  tiles_.assign(candidates);
  std::array<float, RowTiles::width> distances{};
  for (std::size_t i = 0; i < queries.rows; ++i) {
    for (std::size_t t = 0; t < tiles_.count(); ++t) {
      tile_distances(comparison, queries.row(i), tiles_.tile(t), distances);
      const std::size_t first = t * RowTiles::width;
      const std::size_t count = std::min(RowTiles::width, scores.cols - first);
      for (std::size_t j = 0; j < count; ++j) {
        scores.row(i)[first + j] = -distances[j];
      }
    }
  }
}

void AllPairs::euclidean_forward(ConstMatrix queries, ConstMatrix candidates, MutMatrix scores) {
  const auto squares = squares_.get(queries.rows + candidates.rows);
  for (std::size_t i = 0; i < queries.rows; ++i) {
    squares[i] = dot_row(queries.row(i).data(), queries.row(i).data(), queries.cols);
  }
  for (std::size_t j = 0; j < candidates.rows; ++j) {
    const float* row = candidates.row(j).data();
    squares[queries.rows + j] = dot_row(row, row, candidates.cols);
  }
  linear_rows(queries, candidates, scores, Into::overwrite, precision_);
  const float* of_candidates = squares.data() + queries.rows;
  for (std::size_t i = 0; i < queries.rows; ++i) {
    float* row = scores.row(i).data();
    for (std::size_t j = 0; j < scores.cols; ++j) {
      const float terms = squares[i] + of_candidates[j];
      const float square = terms - 2.0F * row[j];
      row[j] = square < near_share * terms
                   ? score_of_pair(Comparison::distance_2, queries.row(i).data(),
                                   candidates.row(j).data(), queries.cols)
                   : -std::sqrt(square);
    }
  }
}

void AllPairs::backward(Comparison comparison, ConstMatrix queries, ConstMatrix candidates,
                        ConstMatrix scores, ConstMatrix grad, const PairSides& out) {
  check_pairs(queries, candidates, scores);
  check_pairs(out.queries, out.candidates, grad);
  if (grad.size() == 0) {
    fill_zero(out.queries);
    fill_zero(out.candidates);
    return;
  }
  if (comparison == Comparison::product) {
    product_backward(queries, candidates, grad, out);
    return;
  }
  if (comparison == Comparison::distance_2) {
    euclidean_backward(queries, candidates, scores, grad, out);
    return;
  }
  fill_zero(out.queries);
  fill_zero(out.candidates);
  for (std::size_t i = 0; i < queries.rows; ++i) {
    for (std::size_t j = 0; j < candidates.rows; ++j) {
      add_pair_gradient(comparison,
                        {queries.row(i).data(), candidates.row(j).data(), out.queries.row(i).data(),
                         out.candidates.row(j).data()},
                        scores.row(i)[j], grad.row(i)[j], queries.cols);
    }
  }
}

void AllPairs::product_backward(ConstMatrix queries, ConstMatrix candidates, ConstMatrix grad,
                                const PairSides& out) {
  linear_backward_rows(grad, candidates, out.queries, Into::overwrite, precision_);
  InlineExecutor here;
  weight_gradient(here, grad, queries, partials_, out.candidates, precision_);
}

/// With w = grad / distance: Σ_j w (c_j - q_i) is a product less the sum of the shares times q_i.
void AllPairs::euclidean_backward(ConstMatrix queries, ConstMatrix candidates, ConstMatrix scores,
                                  ConstMatrix grad, const PairSides& out) {
  const MutMatrix shares = shares_.matrix(grad.rows, grad.cols);
  const auto squares = squares_.get(queries.rows + 2 * candidates.rows);
  for (std::size_t i = 0; i < queries.rows; ++i) {
    squares[i] = dot_row(queries.row(i).data(), queries.row(i).data(), queries.cols);
  }
  for (std::size_t j = 0; j < candidates.rows; ++j) {
    const float* row = candidates.row(j).data();
    squares[queries.rows + j] = dot_row(row, row, candidates.cols);
  }
  std::vector<std::pair<std::size_t, std::size_t>> near;
  for (std::size_t i = 0; i < grad.rows; ++i) {
    for (std::size_t j = 0; j < grad.cols; ++j) {
      const float score = scores.row(i)[j];
      const bool is_near =
          score * score <= 2.0F * near_share * (squares[i] + squares[queries.rows + j]);
      if (is_near && score < 0) {
        near.emplace_back(i, j);
      }
      shares.row(i)[j] = is_near ? 0.0F : grad.row(i)[j] / -score;
    }
  }
  product_backward(queries, candidates, shares, out);
  const auto sums = squares.subspan(queries.rows + candidates.rows, candidates.rows);
  column_sums_rows(shares, sums);
  for (std::size_t i = 0; i < queries.rows; ++i) {
    const auto row = shares.row(i);
    const float sum = sum_in_lanes(row.size(), [row](std::size_t j) { return row[j]; });
    add_scaled_row(queries.row(i).data(), -sum, out.queries.row(i).data(), queries.cols);
  }
  for (std::size_t j = 0; j < candidates.rows; ++j) {
    add_scaled_row(candidates.row(j).data(), -sums[j], out.candidates.row(j).data(),
                   candidates.cols);
  }
  for (const auto& [i, j] : near) {
    add_pair_gradient(Comparison::distance_2,
                      {queries.row(i).data(), candidates.row(j).data(), out.queries.row(i).data(),
                       out.candidates.row(j).data()},
                      scores.row(i)[j], grad.row(i)[j], queries.cols);
  }
}

}  // namespace troupe::nn
