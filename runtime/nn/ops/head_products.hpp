#pragma once
/// \file head_products.hpp
/// Products of the columns of each head with a matrix of the head's own, and the gate between two rows:
/// what heterogeneous graph transformers need beside attention (Hu et al., WWW 2020).
#include "runtime/base/executor.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/linear.hpp"

#include <span>

namespace troupe::nn {

/// y = x times the heads' matrices, for one chunk of rows on the calling thread.
/// \param x        [n, heads * columns]
/// \param weights  [heads * columns, columns]: a matrix [out, in] per head, one below the other
void head_product_rows(ConstMatrix x, ConstMatrix weights, MutMatrix y, Into into,
                       Precision precision = Precision::float32);
/// grad_x from the gradient of y. The same promises.
void head_product_backward_rows(ConstMatrix grad_y, ConstMatrix weights, MutMatrix grad_x,
                                Into into, Precision precision = Precision::float32);

struct HeadProductScratch {
  GrowBuffer<float> grad;
  GrowBuffer<float> x;
  GrowBuffer<float> partials;
};
/// grad_weights, overwritten; as weight_gradient().
void head_product_gradient(Executor& executor, ConstMatrix grad_y, ConstMatrix x,
                           HeadProductScratch& scratch, MutMatrix grad_weights,
                           Precision precision = Precision::float32);

/// Share of the new rows behind a gate: 1 / (1 + exp(-gate)).
float gate_share(float gate);
/// y = share * fresh + (1 - share) * old, for one chunk.
void gate_rows(float share, ConstMatrix fresh, ConstMatrix old, MutMatrix y);
/// Gradient of the gate: partial sums over chunks, added in order.
float gate_gradient(Executor& executor, float share, ConstMatrix grad, ConstMatrix fresh,
                    ConstMatrix old, GrowBuffer<float>& partials);

}  // namespace troupe::nn
