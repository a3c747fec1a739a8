#pragma once
/// \file linear.hpp
/// Dense products for linear layers, by oneDNN, whose bits depend on shapes alone (design, section
/// 4). Functions named `…_rows` run on the calling thread over one chunk of rows; callers spread
/// chunks with `for_each_chunk`.
#include "runtime/base/executor.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/precision.hpp"

#include <cstddef>
#include <functional>
#include <span>

namespace troupe::nn {

/// Rows that one thread computes at a time.
inline constexpr std::size_t chunk_rows = 512;
/// Partial weight gradients that are summed into one.
inline constexpr std::size_t most_partials = 32;

constexpr std::size_t chunk_count(std::size_t rows) {
  return (rows + chunk_rows - 1) / chunk_rows;
}

/// Calls `body(first, count)` for every piece of `rows` rows, of `piece` rows each, on any threads.
void for_each_piece(Executor& executor, std::size_t rows, std::size_t piece,
                    const std::function<void(std::size_t first, std::size_t count)>& body);
/// The same for every chunk.
void for_each_chunk(Executor& executor, std::size_t rows,
                    const std::function<void(std::size_t first, std::size_t count)>& body);

/// What a product does with what its output holds.
enum class Into : bool { overwrite, add };

/// y = x W^T, or y += x W^T. A row's bits do not depend on which or how many other rows there are:
/// products have multiples of 64 rows, without AVX-512 of 48 and then of 6, the last padded, because
/// oneDNN takes kernels with other bits for few rows (decision 0006).
///
/// With Precision::bf16 operands are rounded to words of bfloat16, and sums are float32. A processor
/// with a unit for such words multiplies them (word_products.hpp), any other one the rounded float32
/// numbers: as exact, but no faster. These products have at most 512 rows, counted from the first.
/// \param x       [n, in]
/// \param weight  [out, in]
/// \param y [n, out]; must not overlap the others
/// \requires `precision` is not tf32, which CPUs do not have
void linear_rows(ConstMatrix x, ConstMatrix weight, MutMatrix y, Into into,
                 Precision precision = Precision::float32);

/// grad_x = grad_y W, or += . The same promise as `linear_rows`.
/// \param grad_y [n, out]
/// \param grad_x [n, in]
void linear_backward_rows(ConstMatrix grad_y, ConstMatrix weight, MutMatrix grad_x, Into into,
                          Precision precision = Precision::float32);

/// grad_weight = grad_y^T x: partial sums over groups of chunks, which depend on the number of rows
/// alone, added in group order.
/// \param grad_y [n, out]
/// \param x [n, in]
/// \param partials scratch
/// \param grad_weight [out, in], overwritten
void weight_gradient(Executor& executor, ConstMatrix grad_y, ConstMatrix x,
                     GrowBuffer<float>& partials, MutMatrix grad_weight,
                     Precision precision = Precision::float32);

/// The product that weight_gradient() makes of one chunk: sum = grad_y^T x, or += .
/// \requires at most chunk_rows rows
void chunk_gradient(ConstMatrix grad_y, ConstMatrix x, MutMatrix sum, Into into,
                    Precision precision = Precision::float32);

/// Adds `bias` [cols] to every row of `y`.
void add_bias_rows(std::span<const float> bias, MutMatrix y);

/// sums[c] = sum of column c, row after row.
/// \param sums [cols], overwritten
void column_sums_rows(ConstMatrix x, std::span<float> sums);

/// Adds the rows of `partials` [chunks, cols] in order.
/// \param sums [cols], overwritten
void add_partials(ConstMatrix partials, std::span<float> sums);

}  // namespace troupe::nn
