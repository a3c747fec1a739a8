#include "runtime/nn/ops/head_products.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/hot.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::nn {
namespace {

/// The columns of a head, together.
void copy_head(ConstMatrix x, std::size_t head, MutMatrix to) {
  for (std::size_t r = 0; r < x.rows; ++r) {
    std::ranges::copy(x.row(r).subspan(head * to.cols, to.cols), to.row(r).begin());
  }
}

void put_head(ConstMatrix from, std::size_t head, Into into, MutMatrix y) {
  for (std::size_t r = 0; r < y.rows; ++r) {
    const auto row = y.row(r).subspan(head * from.cols, from.cols);
    const auto values = from.row(r);
    for (std::size_t c = 0; c < from.cols; ++c) {
      row[c] = into == Into::overwrite ? values[c] : row[c] + values[c];
    }
  }
}

template <class Product>
void for_each_head(ConstMatrix x, ConstMatrix weights, MutMatrix y, Into into,
                   const Product& product) {
  const std::size_t columns = weights.cols;
  TROUPE_ASSERT(
      weights.rows == x.cols && y.cols == x.cols && y.rows == x.rows && x.cols % columns == 0,
      "products of heads", weights.rows, weights.cols, x.cols, y.cols, x.rows, y.rows);
  Matrix in(x.rows, columns);
  Matrix out(x.rows, columns);
  for (std::size_t h = 0; h < x.cols / columns; ++h) {
    copy_head(x, h, in.view());
    product(std::as_const(in).view(), weights.slice(h * columns, columns), out.view());
    put_head(std::as_const(out).view(), h, into, y);
  }
}

}  // namespace

void head_product_rows(ConstMatrix x, ConstMatrix weights, MutMatrix y, Into into,
                       Precision precision) {
  for_each_head(x, weights, y, into, [&](ConstMatrix in, ConstMatrix weight, MutMatrix out) {
    linear_rows(in, weight, out, Into::overwrite, precision);
  });
}

void head_product_backward_rows(ConstMatrix grad_y, ConstMatrix weights, MutMatrix grad_x,
                                Into into, Precision precision) {
  for_each_head(grad_y, weights, grad_x, into,
                [&](ConstMatrix in, ConstMatrix weight, MutMatrix out) {
                  linear_backward_rows(in, weight, out, Into::overwrite, precision);
                });
}

void head_product_gradient(Executor& executor, ConstMatrix grad_y, ConstMatrix x,
                           HeadProductScratch& scratch, MutMatrix grad_weights,
                           Precision precision) {
  const std::size_t columns = grad_weights.cols;
  const MutMatrix grad_of_head = scratch.grad.matrix(grad_y.rows, columns);
  const MutMatrix x_of_head = scratch.x.matrix(grad_y.rows, columns);
  for (std::size_t h = 0; h < x.cols / columns; ++h) {
    for_each_chunk(executor, grad_y.rows, [&](std::size_t first, std::size_t count) {
      copy_head(grad_y.slice(first, count), h, grad_of_head.slice(first, count));
      copy_head(x.slice(first, count), h, x_of_head.slice(first, count));
    });
    weight_gradient(executor, grad_of_head, x_of_head, scratch.partials,
                    grad_weights.slice(h * columns, columns), precision);
  }
}

float gate_share(float gate) {
  return 1.0F / (1.0F + std::exp(-gate));
}

TROUPE_HOT void gate_rows(float share, ConstMatrix fresh, ConstMatrix old, MutMatrix y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    y.data[i] = share * fresh.data[i] + (1 - share) * old.data[i];
  }
}

float gate_gradient(Executor& executor, float share, ConstMatrix grad, ConstMatrix fresh,
                    ConstMatrix old, GrowBuffer<float>& partials) {
  const MutMatrix of_chunks = partials.matrix(chunk_count(grad.rows), 1);
  for_each_chunk(executor, grad.rows, [&](std::size_t first, std::size_t count) {
    const std::size_t begin = first * grad.cols;
    float sum = 0;
    for (std::size_t i = begin; i < begin + count * grad.cols; ++i) {
      sum += grad.data[i] * (fresh.data[i] - old.data[i]);
    }
    of_chunks.row(first / chunk_rows)[0] = sum;
  });
  float sum = 0;
  add_partials(of_chunks, {&sum, 1});
  return sum * share * (1 - share);
}

}  // namespace troupe::nn
