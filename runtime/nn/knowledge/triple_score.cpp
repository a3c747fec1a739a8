#include "runtime/nn/knowledge/triple_score.hpp"

#include "runtime/base/hot.hpp"
#include "runtime/nn/ops/row_ops.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::nn {
namespace {

void check_query_shapes(const TripleScore& score, ConstMatrix known, ConstMatrix factors,
                        ConstMatrix queries) {
  TROUPE_ASSERT(known.rows == factors.rows && known.cols == factors.cols &&
                    known.rows == queries.rows && known.cols == queries.cols,
                "rows of queries", known.rows, known.cols, factors.rows, factors.cols, queries.rows,
                queries.cols);
  TROUPE_ASSERT(!score.complex_rows() || known.cols % 2 == 0, "columns of complex rows",
                known.cols);
}

float sign_of(ReplacedEnd replaced) {
  return replaced == ReplacedEnd::tail ? 1.0F : -1.0F;
}

/// q = k times r, or times its conjugate where `sign` is -1; rows of [re | im].
void multiply_complex_row(const float* __restrict k, const float* __restrict r, float sign,
                          float* __restrict q, std::size_t half) {
  for (std::size_t i = 0; i < half; ++i) {
    const float imaginary = sign * r[half + i];
    q[i] = k[i] * r[i] - k[half + i] * imaginary;
    q[half + i] = k[i] * imaginary + k[half + i] * r[i];
  }
}

struct ComplexGradients {
  float* __restrict k;
  float* __restrict r;
};
void multiply_complex_backward(const float* __restrict k, const float* __restrict r, float sign,
                               const float* __restrict grad, std::size_t half,
                               ComplexGradients grads) {
  for (std::size_t i = 0; i < half; ++i) {
    const float imaginary = sign * r[half + i];
    const float re = grad[i];
    const float im = grad[half + i];
    grads.k[i] = re * r[i] + im * imaginary;
    grads.k[half + i] = im * r[i] - re * imaginary;
    grads.r[i] = re * k[i] + im * k[half + i];
    grads.r[half + i] = sign * (im * k[i] - re * k[half + i]);
  }
}

/// Gradients of a query of complex numbers; of angles where relations are such.
void complex_query_backward(const TripleScore& score, float sign, ConstMatrix known,
                            ConstMatrix factors, ConstMatrix grad_queries,
                            const QueryGradients& grads) {
  const std::size_t half = known.cols / 2;
  const bool angles = score.kind == ScoreKind::rotate;
  Matrix of_factors(angles ? 1 : 0, known.cols);
  for (std::size_t i = 0; i < known.rows; ++i) {
    float* of_relation = angles ? of_factors.data() : grads.relations.row(i).data();
    multiply_complex_backward(known.row(i).data(), factors.row(i).data(), sign,
                              grad_queries.row(i).data(), half,
                              {grads.known.row(i).data(), of_relation});
    if (!angles) {
      continue;
    }
    const float* cosine = factors.row(i).data();
    const auto angle = grads.relations.row(i);
    for (std::size_t k = 0; k < half; ++k) {
      angle[k] = cosine[k] * of_relation[half + k] - cosine[half + k] * of_relation[k];
    }
  }
}

}  // namespace

Comparison TripleScore::comparison() const {
  switch (kind) {
    case ScoreKind::distmult:
    case ScoreKind::complex:
      return Comparison::product;
    case ScoreKind::transe:
      return norm == 1 ? Comparison::distance_1 : Comparison::distance_2;
    case ScoreKind::rotate:
      return norm == 1 ? Comparison::moduli : Comparison::distance_2;
  }
  return Comparison::product;
}

void relation_factors(const TripleScore& score, ConstMatrix relations, MutMatrix factors) {
  TROUPE_ASSERT(
      relations.rows == factors.rows && relations.cols == score.relation_cols(factors.cols),
      "rows of relations", relations.rows, relations.cols, factors.rows, factors.cols);
  if (score.kind != ScoreKind::rotate) {
    std::ranges::copy(relations.flat(), factors.data);
    return;
  }
  for (std::size_t i = 0; i < relations.rows; ++i) {
    const auto angle = relations.row(i);
    const auto out = factors.row(i);
    for (std::size_t k = 0; k < angle.size(); ++k) {
      out[k] = std::cos(angle[k]);
      out[angle.size() + k] = std::sin(angle[k]);
    }
  }
}

void query_rows(const TripleScore& score, ReplacedEnd replaced, ConstMatrix known,
                ConstMatrix factors, MutMatrix queries) {
  check_query_shapes(score, known, factors, queries);
  const float sign = sign_of(replaced);
  if (score.complex_rows()) {
    for (std::size_t i = 0; i < known.rows; ++i) {
      multiply_complex_row(known.row(i).data(), factors.row(i).data(), sign, queries.row(i).data(),
                           known.cols / 2);
    }
    return;
  }
  const bool sum = score.kind == ScoreKind::transe;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const float factor = factors.data[i];
    queries.data[i] = sum ? known.data[i] + sign * factor : known.data[i] * factor;
  }
}

void query_backward(const TripleScore& score, ReplacedEnd replaced, ConstMatrix known,
                    ConstMatrix factors, ConstMatrix grad_queries, const QueryGradients& grads) {
  check_query_shapes(score, known, factors, grad_queries);
  TROUPE_ASSERT(grads.known.rows == known.rows && grads.known.cols == known.cols &&
                    grads.relations.rows == known.rows &&
                    grads.relations.cols == score.relation_cols(known.cols),
                "gradients of queries", grads.known.rows, grads.known.cols, grads.relations.rows,
                grads.relations.cols);
  const float sign = sign_of(replaced);
  if (score.complex_rows()) {
    complex_query_backward(score, sign, known, factors, grad_queries, grads);
    return;
  }
  const bool sum = score.kind == ScoreKind::transe;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const float grad = grad_queries.data[i];
    grads.known.data[i] = sum ? grad : grad * factors.data[i];
    grads.relations.data[i] = sum ? sign * grad : grad * known.data[i];
  }
}

void unit_rows(int norm, ConstMatrix rows, MutMatrix out, std::span<float> lengths) {
  std::ranges::copy(rows.flat(), out.data);
  if (norm == 2) {
    l2_normalize_rows(out, lengths);
    return;
  }
  for (std::size_t i = 0; i < out.rows; ++i) {
    float length = 0;
    for (const float value : out.row(i)) {
      length += std::abs(value);
    }
    lengths[i] = std::max(length, shortest_length);
    for (float& value : out.row(i)) {
      value /= lengths[i];
    }
  }
}

void unit_backward(int norm, ConstMatrix out, std::span<const float> lengths, MutMatrix grad) {
  if (norm == 2) {
    l2_normalize_backward_rows(out, lengths, grad);
    return;
  }
  for (std::size_t i = 0; i < out.rows; ++i) {
    const auto unit = out.row(i);
    const auto row = grad.row(i);
    float along = 0;
    for (std::size_t c = 0; c < row.size(); ++c) {
      along += unit[c] * row[c];
    }
    const bool shortest = lengths[i] <= shortest_length;  // the divisor is a constant there
    for (std::size_t c = 0; c < row.size(); ++c) {
      const float sign = unit[c] > 0 ? 1.0F : (unit[c] < 0 ? -1.0F : 0.0F);
      row[c] = (row[c] - (shortest ? 0.0F : sign * along)) / lengths[i];
    }
  }
}

}  // namespace troupe::nn
