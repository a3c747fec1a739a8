#pragma once
/// \file bf16_products.hpp
/// Products of float32 rows whose operands are rounded to bfloat16, for `Precision::bf16` of linear.hpp.
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/linear.hpp"

namespace troupe::nn {

/// Right side of a product: `rows`, or their transpose.
struct ProductSide {
  ConstMatrix rows;
  bool transposed;
};

/// y = x B, or y += x B, in products of 512 rows; the last one is padded to a multiple of 64 rows.
/// \param x  [n, k]
/// \param b  as B: [k, m]
/// \param y  [n, m]
void bf16_rows(ConstMatrix x, ProductSide b, MutMatrix y, Into into);

/// c = a^T b, or c += a^T b, as one product; rows are padded to a multiple of 64.
/// \param a  [n, p]
/// \param b  [n, q]
/// \param c  [p, q]
void bf16_gradient(ConstMatrix a, ConstMatrix b, MutMatrix c, Into into);

}  // namespace troupe::nn
