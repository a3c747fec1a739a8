#include "runtime/nn/ops/batch_norm.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/hot.hpp"
#include "runtime/nn/ops/linear.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::nn {
namespace {

float inverse_deviation(float variance) {
  return 1.0F / std::sqrt(variance + batch_norm_eps);
}

TROUPE_HOT void column_squares_rows(ConstMatrix x, std::span<const float> mean,
                                    std::span<float> sums) {
  std::ranges::fill(sums, 0.0F);
  for (std::size_t r = 0; r < x.rows; ++r) {
    const float* __restrict row = x.row(r).data();
    float* __restrict out = sums.data();
    for (std::size_t c = 0; c < x.cols; ++c) {
      const float d = row[c] - mean[c];
      out[c] += d * d;
    }
  }
}

TROUPE_HOT void normalize_rows(const BatchNorm& norm, ConstMatrix x, MutMatrix out) {
  for (std::size_t r = 0; r < x.rows; ++r) {
    const float* in = x.row(r).data();
    float* to = out.row(r).data();
    for (std::size_t c = 0; c < x.cols; ++c) {
      to[c] = (in[c] - norm.mean[c]) * inverse_deviation(norm.variance[c]) * norm.gain[c] +
              norm.bias[c];
    }
  }
}

/// Sums over rows of grad times the normalized row, and of grad.
TROUPE_HOT void gradient_sums_rows(const BatchNorm& norm, ConstMatrix x, ConstMatrix grad,
                                   std::span<float> sums) {
  std::ranges::fill(sums, 0.0F);
  for (std::size_t r = 0; r < x.rows; ++r) {
    const float* in = x.row(r).data();
    const float* g = grad.row(r).data();
    for (std::size_t c = 0; c < x.cols; ++c) {
      sums[c] += g[c] * ((in[c] - norm.mean[c]) * inverse_deviation(norm.variance[c]));
      sums[x.cols + c] += g[c];
    }
  }
}

/// \param sums  over all rows
TROUPE_HOT void normalize_backward_rows(const BatchNorm& norm, ConstMatrix x,
                                        std::span<const float> sums, MutMatrix grad) {
  const auto rows = static_cast<float>(norm.x.rows);
  for (std::size_t r = 0; r < x.rows; ++r) {
    const float* in = x.row(r).data();
    float* g = grad.row(r).data();
    for (std::size_t c = 0; c < x.cols; ++c) {
      const float s = inverse_deviation(norm.variance[c]);
      if (norm.training) {
        g[c] -= (sums[x.cols + c] + (in[c] - norm.mean[c]) * s * sums[c]) / rows;
      }
      g[c] *= norm.gain[c] * s;
    }
  }
}

}  // namespace

void batch_statistics(Executor& executor, const BatchNorm& norm, GrowBuffer<float>& partials) {
  const ConstMatrix& x = norm.x;
  if (!norm.training) {
    return;
  }
  if (x.rows == 0) {
    std::ranges::fill(norm.mean, 0.0F);
    std::ranges::fill(norm.variance, 1.0F);
    return;
  }
  const auto rows = static_cast<float>(x.rows);
  const MutMatrix of_chunks = partials.matrix(chunk_count(x.rows), x.cols);
  const auto average = [&](const auto& sums_of, std::span<float> out) {
    for_each_chunk(executor, x.rows, [&](std::size_t first, std::size_t count) {
      sums_of(x.slice(first, count), of_chunks.row(first / chunk_rows));
    });
    add_partials(of_chunks, out);
    std::ranges::for_each(out, [rows](float& sum) { sum /= rows; });
  };
  average([](ConstMatrix part, std::span<float> out) { column_sums_rows(part, out); }, norm.mean);
  average(
      [&](ConstMatrix part, std::span<float> out) { column_squares_rows(part, norm.mean, out); },
      norm.variance);
}

void batch_norm(Executor& executor, const BatchNorm& norm, const FinishState& state,
                MutMatrix out) {
  TROUPE_ASSERT(out.rows == norm.x.rows && out.cols == norm.x.cols && !norm.after.keeps_conv(),
                "batch norm", out.rows, norm.x.rows, out.cols, norm.x.cols);
  for_each_chunk(executor, out.rows, [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = out.slice(first, count);
    normalize_rows(norm, norm.x.slice(first, count), rows);
    finish_rows(norm.after, state, first, rows, rows);
  });
}

std::span<const float> batch_norm_backward(Executor& executor, const BatchNorm& norm,
                                           const FinishState& state, MutMatrix grad,
                                           FinishScratch& scratch) {
  finish_backward(executor, norm.after, state, grad, scratch);
  const std::size_t cols = grad.cols;
  const MutMatrix partials = scratch.column_partials.matrix(chunk_count(grad.rows), 2 * cols);
  for_each_chunk(executor, grad.rows, [&](std::size_t first, std::size_t count) {
    gradient_sums_rows(norm, norm.x.slice(first, count), grad.slice(first, count),
                       partials.row(first / chunk_rows));
  });
  const auto sums = scratch.column_sums.get(2 * cols);
  add_partials(partials, sums);
  for_each_chunk(executor, grad.rows, [&](std::size_t first, std::size_t count) {
    normalize_backward_rows(norm, norm.x.slice(first, count), sums, grad.slice(first, count));
  });
  return sums;
}

}  // namespace troupe::nn
