#include "runtime/nn/knowledge/pair_scores.hpp"

#include "runtime/base/executor.hpp"
#include "runtime/base/hot.hpp"
#include "runtime/nn/knowledge/float_lanes.hpp"
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

/// What a gradient is added to; `to` is null where it is not wanted.
struct PairGradient {
  float* to_query;
  float* to_candidate;
};

/// Takes `step(c)` from the query's gradient and adds it to the candidate's.
template <class Step>
[[gnu::always_inline]] inline void move_rows(const PairGradient& to, std::size_t cols,
                                             const Step& step) {
  float* __restrict q = to.to_query;
  float* __restrict c = to.to_candidate;
  if (q == nullptr) {
    for (std::size_t i = 0; i < cols; ++i) {
      c[i] += step(i);
    }
  } else if (c == nullptr) {
    for (std::size_t i = 0; i < cols; ++i) {
      q[i] -= step(i);
    }
  } else {
    for (std::size_t i = 0; i < cols; ++i) {
      const float by = step(i);
      q[i] -= by;
      c[i] += by;
    }
  }
}

/// Of -Σ|q - c|.
void add_sign_rows(const ScoredPair& pair, const PairGradient& to, std::size_t cols) {
  const float* __restrict q = pair.query;
  const float* __restrict c = pair.candidate;
  const float grad = pair.grad;
  move_rows(to, cols, [=](std::size_t i) {
    const float difference = q[i] - c[i];
    return difference > 0 ? grad : (difference < 0 ? -grad : 0.0F);
  });
}

/// Of -Σ|q_k - c_k|.
void add_direction_rows(const ScoredPair& pair, const PairGradient& to, std::size_t half) {
  const float* __restrict q = pair.query;
  const float* __restrict c = pair.candidate;
  float* __restrict to_q = to.to_query;
  float* __restrict to_c = to.to_candidate;
  const bool of_query = to_q != nullptr;
  const bool of_candidate = to_c != nullptr;
  for (std::size_t i = 0; i < half; ++i) {
    const float re = q[i] - c[i];
    const float im = q[half + i] - c[half + i];
    const float modulus = std::sqrt(re * re + im * im);
    const float share = modulus > 0 ? pair.grad / modulus : 0.0F;
    if (of_query) {
      to_q[i] -= share * re;
      to_q[half + i] -= share * im;
    }
    if (of_candidate) {
      to_c[i] += share * re;
      to_c[half + i] += share * im;
    }
  }
}

/// Of the length of q - c.
void add_difference_rows(const ScoredPair& pair, const PairGradient& to, std::size_t cols) {
  const float* __restrict q = pair.query;
  const float* __restrict c = pair.candidate;
  const float share = pair.score < 0 ? pair.grad / -pair.score : 0.0F;
  move_rows(to, cols, [=](std::size_t i) { return share * (q[i] - c[i]); });
}

void add_pair_gradient(Comparison comparison, const ScoredPair& pair, const PairGradient& to,
                       std::size_t cols) {
  switch (comparison) {
    case Comparison::product:
      if (to.to_query != nullptr) {
        add_scaled_row(pair.candidate, pair.grad, to.to_query, cols);
      }
      if (to.to_candidate != nullptr) {
        add_scaled_row(pair.query, pair.grad, to.to_candidate, cols);
      }
      return;
    case Comparison::distance_1:
      return add_sign_rows(pair, to, cols);
    case Comparison::distance_2:
      return add_difference_rows(pair, to, cols);
    case Comparison::moduli:
      return add_direction_rows(pair, to, cols / 2);
  }
}

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

/// Squares of the length of rows.
void square_rows(ConstMatrix rows, std::span<float> squares) {
  for (std::size_t i = 0; i < rows.rows; ++i) {
    squares[i] = dot_row(rows.row(i).data(), rows.row(i).data(), rows.cols);
  }
}

/// products[j] becomes |q|² + |c_j|² - 2 q·c_j. \returns whether one of them is near
TROUPE_HOT bool squares_of_differences(float of_query, const float* __restrict of_candidates,
                                       std::size_t n, float* __restrict products) {
  std::uint32_t near = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const float terms = of_query + of_candidates[j];
    const float square = terms - 2.0F * products[j];
    products[j] = square;
    near |= square < near_share * terms ? 1U : 0U;
  }
  return near != 0;
}

TROUPE_HOT void negative_roots(float* row, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    row[j] = -std::sqrt(row[j]);
  }
}

[[gnu::always_inline]] inline bool is_near_distance(float score, float terms) {
  return score * score <= 2.0F * near_share * terms;
}

/// shares[j] = grad[j] over the distance; 0 where that is near. \returns whether one is
TROUPE_HOT bool shares_of_distances(float of_query, const float* __restrict of_candidates,
                                    const float* __restrict scores, const float* __restrict grad,
                                    std::size_t n, float* __restrict shares) {
  std::uint32_t near = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const bool is_near = is_near_distance(scores[j], of_query + of_candidates[j]);
    const float share = grad[j] / -scores[j];
    shares[j] = is_near ? 0.0F : share;
    near |= is_near ? 1U : 0U;
  }
  return near != 0;
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

void scores_in_pairs(Comparison comparison, ConstMatrix queries, const PlacedRows& candidates,
                     std::span<float> scores) {
  TROUPE_ASSERT(queries.rows == candidates.rows() && queries.cols == candidates.cols() &&
                    scores.size() == queries.rows,
                "pairs", queries.rows, queries.cols, candidates.rows(), candidates.cols(),
                scores.size());
  for (std::size_t i = 0; i < queries.rows; ++i) {
    scores[i] =
        score_of_pair(comparison, queries.row(i).data(), candidates.row(i).data(), queries.cols);
  }
}

void add_query_gradient(Comparison comparison, const ScoredPair& pair, std::span<float> to) {
  add_pair_gradient(comparison, pair, {to.data(), nullptr}, to.size());
}

void add_candidate_gradient(Comparison comparison, const ScoredPair& pair, std::span<float> to) {
  add_pair_gradient(comparison, pair, {nullptr, to.data()}, to.size());
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
  const auto squares = squares_.get(queries.rows + 2 * candidates.rows);
  square_rows(queries, squares);
  const auto of_candidates = squares.subspan(queries.rows, candidates.rows);
  square_rows(candidates, of_candidates);
  linear_rows(queries, candidates, scores, Into::overwrite, precision_);
  for (std::size_t i = 0; i < queries.rows; ++i) {
    float* row = scores.row(i).data();
    if (!squares_of_differences(squares[i], of_candidates.data(), scores.cols, row)) {
      negative_roots(row, scores.cols);
      continue;
    }
    for (std::size_t j = 0; j < scores.cols; ++j) {
      row[j] = row[j] < near_share * (squares[i] + of_candidates[j])
                   ? score_of_pair(Comparison::distance_2, queries.row(i).data(),
                                   candidates.row(j).data(), queries.cols)
                   : -std::sqrt(row[j]);
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
      add_pair_gradient(
          comparison,
          {queries.row(i).data(), candidates.row(j).data(), scores.row(i)[j], grad.row(i)[j]},
          {out.queries.row(i).data(), out.candidates.row(j).data()}, queries.cols);
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
  const auto squares = squares_.get(queries.rows + 2 * candidates.rows);  // those of forward()
  const auto of_candidates = squares.subspan(queries.rows, candidates.rows);
  std::vector<std::pair<std::size_t, std::size_t>> near;
  for (std::size_t i = 0; i < grad.rows; ++i) {
    const auto row = scores.row(i);
    if (!shares_of_distances(squares[i], of_candidates.data(), row.data(), grad.row(i).data(),
                             grad.cols, shares.row(i).data())) {
      continue;
    }
    for (std::size_t j = 0; j < grad.cols; ++j) {
      if (is_near_distance(row[j], squares[i] + of_candidates[j]) && row[j] < 0) {
        near.emplace_back(i, j);
      }
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
    add_pair_gradient(
        Comparison::distance_2,
        {queries.row(i).data(), candidates.row(j).data(), scores.row(i)[j], grad.row(i)[j]},
        {out.queries.row(i).data(), out.candidates.row(j).data()}, queries.cols);
  }
}

}  // namespace troupe::nn
