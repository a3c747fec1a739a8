#pragma once
/// \file triple_bodies.hpp
/// Kernel bodies of triples' queries, of rows of a given length and of regularization
/// (runtime/nn/knowledge/{triple_score,chunk_loss}.hpp), with their bits but for cosines and sines.
#include "gpu/base/shared.hpp"
#include "gpu/nn/loads_ahead.hpp"
#include "gpu/nn/norm_bodies.hpp"
#include "runtime/nn/knowledge/chunk_loss.hpp"
#include "runtime/nn/knowledge/triple_score.hpp"

#include <cmath>

namespace troupe::gpu {

/// Rows of `from` by their places.
struct GatherPlaces {
  const std::uint32_t* places;
  const float* from;
  std::size_t cols;
  float* out;
  TROUPE_HD void operator()(std::size_t r, std::size_t c) const {
    out[r * cols + c] = from[places[r] * cols + c];
  }
};

/// A row by its length, the sum of its columns without their signs.
struct AbsoluteLength {
  static constexpr unsigned least_blocks = 1;
  const float* x;
  std::size_t cols;
  float* lengths;
  TROUPE_HD void operator()(std::size_t r) const {
    const float* const row = x + r * cols;
    float length = 0;
    in_order<16, 8>(
        std::size_t{0}, cols, [row](std::size_t c) { return row[c]; },
        [&length](std::size_t /*c*/, float value) { length += fabsf(value); });
    lengths[r] = divisor_of(length);
  }
};
/// along[r] = sum of a gradient times what came out, column by column.
struct AlongInOrder {
  static constexpr unsigned least_blocks = 1;
  const float* y;
  const float* grad;
  std::size_t cols;
  float* along;
  struct Loaded {
    float y;
    float grad;
  };
  TROUPE_HD void operator()(std::size_t r) const {
    const float* const out = y + r * cols;
    const float* const g = grad + r * cols;
    float sum = 0;
    in_order<16, 8>(
        std::size_t{0}, cols,
        [out, g](std::size_t c) {
          return Loaded{out[c], g[c]};
        },
        [&sum](std::size_t /*c*/, const Loaded& at) { sum += at.y * at.grad; });
    along[r] = sum;
  }
};
struct AbsoluteBackward {
  const float* y;
  const float* lengths;
  const float* along;
  std::size_t cols;
  float* grad;
  TROUPE_HD void operator()(std::size_t r, std::size_t c) const {
    const std::size_t at = r * cols + c;
    const float sign = y[at] > 0 ? 1.0F : (y[at] < 0 ? -1.0F : 0.0F);
    const bool shortest = lengths[r] <= nn::shortest_length;  // the divisor is a constant there
    grad[at] = (grad[at] - (shortest ? 0.0F : sign * along[r])) / lengths[r];
  }
};

/// [cos | sin] of angles, by row and column of the angles.
struct AngleFactors {
  const float* angles;
  std::size_t half;
  float* factors;
  TROUPE_HD void operator()(std::size_t r, std::size_t k) const {
    const float angle = angles[r * half + k];
    factors[r * 2 * half + k] = cosf(angle);
    factors[r * 2 * half + half + k] = sinf(angle);
  }
};

/// What queries are made of: rows of known ends and factors of relations.
struct QueryRows {
  nn::ScoreKind kind;
  float sign;  ///< 1: the tail is replaced; -1: the head is
  std::size_t cols;
  const float* known;
  const float* factors;
};
/// Of complex rows a number a call, else a column.
struct PutQuery {
  QueryRows of;
  float* queries;
  TROUPE_HD void operator()(std::size_t i, std::size_t k) const {
    const float* const x = of.known + i * of.cols;
    const float* const r = of.factors + i * of.cols;
    float* const q = queries + i * of.cols;
    if (of.kind == nn::ScoreKind::transe) {
      q[k] = x[k] + of.sign * r[k];
    } else if (of.kind == nn::ScoreKind::distmult) {
      q[k] = x[k] * r[k];
    } else {
      const std::size_t half = of.cols / 2;
      const float imaginary = of.sign * r[half + k];
      q[k] = x[k] * r[k] - x[half + k] * imaginary;
      q[half + k] = x[k] * imaginary + x[half + k] * r[k];
    }
  }
};
struct QueryBackward {
  QueryRows of;
  const float* grad;
  float* known;
  float* relations;  ///< of RotatE [n, cols / 2] of angles
  TROUPE_HD void operator()(std::size_t i, std::size_t k) const {
    const std::size_t row = i * of.cols;
    if (of.kind == nn::ScoreKind::transe) {
      known[row + k] = grad[row + k];
      relations[row + k] = of.sign * grad[row + k];
    } else if (of.kind == nn::ScoreKind::distmult) {
      known[row + k] = grad[row + k] * of.factors[row + k];
      relations[row + k] = grad[row + k] * of.known[row + k];
    } else {
      pass_back(i, k);
    }
  }
  TROUPE_HD void pass_back(std::size_t i, std::size_t k) const {
    const std::size_t half = of.cols / 2;
    const std::size_t at = i * of.cols + k;
    const float* const x = of.known;
    const float* const r = of.factors;
    const float imaginary = of.sign * r[at + half];
    const float re = grad[at];
    const float im = grad[at + half];
    known[at] = re * r[at] + im * imaginary;
    known[at + half] = im * r[at] - re * imaginary;
    const float of_re = re * x[at] + im * x[at + half];
    const float of_im = of.sign * (im * x[at] - re * x[at + half]);
    if (of.kind == nn::ScoreKind::rotate) {
      relations[i * half + k] = r[at] * of_im - r[at + half] * of_re;
    } else {
      relations[at] = of_re;
      relations[at + half] = of_im;
    }
  }
};

/// Adds `factor` times the gradient of what pulls rows towards 0: of complex rows a number a call, else a
/// column.
struct Regularize {
  nn::Regularization kind;
  bool complex_rows;
  double factor;
  const float* rows;
  std::size_t cols;
  float* grad;
  TROUPE_HD void operator()(std::size_t r, std::size_t k) const {
    const std::size_t at = r * cols + k;
    const double x = rows[at];
    if (kind == nn::Regularization::l2) {
      grad[at] += static_cast<float>(2 * factor * x);
    } else if (!complex_rows) {
      grad[at] += static_cast<float>(3 * factor * fabs(x) * x);
    } else {
      const double im = rows[at + cols / 2];
      const double modulus = sqrt(x * x + im * im);
      grad[at] += static_cast<float>(3 * factor * modulus * x);
      grad[at + cols / 2] += static_cast<float>(3 * factor * modulus * im);
    }
  }
};

}  // namespace troupe::gpu
