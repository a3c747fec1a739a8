#include "runtime/nn/knowledge/query_rows.hpp"

#include <algorithm>

namespace troupe::nn {
namespace {

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

/// The gradient of multiply_complex_row() by k.
void complex_known_gradient(const float* __restrict r, const float* __restrict grad, float sign,
                            float* __restrict out, std::size_t half) {
  for (std::size_t i = 0; i < half; ++i) {
    const float imaginary = sign * r[half + i];
    out[i] = grad[i] * r[i] + grad[half + i] * imaginary;
    out[half + i] = grad[half + i] * r[i] - grad[i] * imaginary;
  }
}

/// The same by r.
void complex_factor_gradient(const float* __restrict k, const float* __restrict grad, float sign,
                             float* __restrict out, std::size_t half) {
  for (std::size_t i = 0; i < half; ++i) {
    out[i] = grad[i] * k[i] + grad[half + i] * k[half + i];
    out[half + i] = sign * (grad[half + i] * k[i] - grad[i] * k[half + i]);
  }
}

/// By the angles whose cosines and sines r is.
void angle_gradient(const QueryRow& query, float sign, float* __restrict out, std::size_t half) {
  const float* __restrict k = query.known;
  const float* __restrict r = query.factors;
  const float* __restrict grad = query.grad;
  for (std::size_t i = 0; i < half; ++i) {
    const float of_cosine = grad[i] * k[i] + grad[half + i] * k[half + i];
    const float of_sine = sign * (grad[half + i] * k[i] - grad[i] * k[half + i]);
    out[i] = r[i] * of_sine - r[half + i] * of_cosine;
  }
}

void add_row(const float* __restrict a, float sign, const float* __restrict b,
             float* __restrict out, std::size_t cols) {
  for (std::size_t c = 0; c < cols; ++c) {
    out[c] = a[c] + sign * b[c];
  }
}

void multiply_row(const float* __restrict a, const float* __restrict b, float* __restrict out,
                  std::size_t cols) {
  for (std::size_t c = 0; c < cols; ++c) {
    out[c] = a[c] * b[c];
  }
}

}  // namespace

void query_rows(const TripleScore& score, ReplacedEnd replaced, const PlacedRows& known,
                const PlacedRows& factors, MutMatrix queries) {
  TROUPE_ASSERT(known.rows() == factors.rows() && known.cols() == factors.cols() &&
                    known.rows() == queries.rows && known.cols() == queries.cols,
                "rows of queries", known.rows(), known.cols(), factors.rows(), factors.cols(),
                queries.rows, queries.cols);
  TROUPE_ASSERT(!score.complex_rows() || known.cols() % 2 == 0, "columns of complex rows",
                known.cols());
  const float sign = sign_of(replaced);
  for (std::size_t i = 0; i < queries.rows; ++i) {
    const float* k = known.row(i).data();
    const float* r = factors.row(i).data();
    float* q = queries.row(i).data();
    if (score.complex_rows()) {
      multiply_complex_row(k, r, sign, q, queries.cols / 2);
    } else if (score.kind == ScoreKind::transe) {
      add_row(k, sign, r, q, queries.cols);
    } else {
      multiply_row(k, r, q, queries.cols);
    }
  }
}

void known_gradient(const TripleScore& score, ReplacedEnd replaced, const QueryRow& query,
                    std::span<float> out) {
  if (score.complex_rows()) {
    complex_known_gradient(query.factors, query.grad, sign_of(replaced), out.data(),
                           out.size() / 2);
  } else if (score.kind == ScoreKind::transe) {
    std::copy_n(query.grad, out.size(), out.data());
  } else {
    multiply_row(query.grad, query.factors, out.data(), out.size());
  }
}

void relation_gradient(const TripleScore& score, ReplacedEnd replaced, const QueryRow& query,
                       std::span<float> out) {
  const float sign = sign_of(replaced);
  switch (score.kind) {
    case ScoreKind::rotate:
      return angle_gradient(query, sign, out.data(), out.size());
    case ScoreKind::complex:
      return complex_factor_gradient(query.known, query.grad, sign, out.data(), out.size() / 2);
    case ScoreKind::transe:
      std::ranges::transform(std::span(query.grad, out.size()), out.begin(),
                             [sign](float grad) { return sign * grad; });
      return;
    case ScoreKind::distmult:
      return multiply_row(query.grad, query.known, out.data(), out.size());
  }
}

}  // namespace troupe::nn
