// Matrix products on a device against float64.
#include "tests/gpu/block_ops_support.hpp"

#include <fmt/format.h>
#include <vector>

namespace troupe::testing {
namespace {

using nn::testing::random_matrix;

class ProductOps : public BlockOpsTest {};

INSTANTIATE_TEST_SUITE_P(Devices, ProductOps, ::testing::ValuesIn(tested_devices), name_of_device);

/// a [n, k] times b [k, m] in float64, operands by functions of their indices.
template <class A, class B>
std::vector<double> product(std::size_t n, std::size_t k, std::size_t m, const A& a, const B& b) {
  std::vector<double> result(n * m);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      for (std::size_t l = 0; l < k; ++l) {
        result[i * m + j] += static_cast<double>(a(i, l)) * static_cast<double>(b(l, j));
      }
    }
  }
  return result;
}

void expect_products_of_float64(Operands& on, std::size_t rows, std::size_t in, std::size_t out) {
  const auto what = fmt::format("{} x {} x {}", rows, in, out);
  constexpr double tolerance = 1e-5;  // of the largest; float32 has 6e-8, and sums of up to 1,025
  InlineExecutor executor;
  const Matrix x = random_matrix(rows, in, 1);
  const Matrix weight = random_matrix(out, in, 2);
  const Matrix grad = random_matrix(rows, out, 3);
  const auto at = [](const Matrix& m) {
    return [&m](std::size_t r, std::size_t c) { return m.data()[r * m.cols() + c]; };
  };
  const auto turned = [](const Matrix& m) {
    return [&m](std::size_t r, std::size_t c) { return m.data()[c * m.cols() + r]; };
  };
  nn::TermWork term;
  term.source = on.copied(x);
  term.weight = on.copied(weight);
  nn::FinishState state(on.memory());
  const nn::Finish finish;
  const MutMatrix y = on.rows(rows, out);
  const MutMatrix conv = nn::begin_finish(finish, y, state);
  on.ops().combine(executor, {.terms = std::vector{term, term},  // the second one is added
                              .bias = {},
                              .finish = finish,
                              .state = state,
                              .conv = conv,
                              .out = y});
  auto twice = product(rows, in, out, at(x), turned(weight));
  for (double& value : twice) {
    value *= 2;
  }
  nn::testing::expect_close<float>(on.fetched(y), twice, tolerance, what);

  const MutMatrix from = on.copied(grad);
  const MutMatrix grad_x = on.rows(rows, in);
  on.ops().product_backward(executor, from, term.weight, grad_x);
  nn::testing::expect_close<float>(on.fetched(grad_x), product(rows, out, in, at(grad), at(weight)),
                                   tolerance, what);
  const MutMatrix grad_weight = on.rows(out, in);
  on.ops().weight_gradient(executor, from, term.source, grad_weight);
  nn::testing::expect_close<float>(on.fetched(grad_weight),
                                   product(out, rows, in, turned(grad), at(x)), tolerance, what);
}

TEST_P(ProductOps, ProductsAreNearFloat64) {
  const auto ops = on().block_ops();
  Operands operands(*ops);
  for (const std::size_t rows : {1U, 2U, 63U, 64U, 65U, 1025U}) {
    for (const std::size_t in : {1U, 7U, 100U, 128U}) {
      for (const std::size_t out : {1U, 16U, 47U}) {
        expect_products_of_float64(operands, rows, in, out);
      }
    }
  }
}

TEST_P(ProductOps, NothingIsLeftOfNoRows) {
  const auto ops = on().block_ops();
  Operands operands(*ops);
  InlineExecutor executor;
  const Matrix before = random_matrix(3, 4, 1);
  const MutMatrix grad_weight = operands.copied(before);
  operands.ops().weight_gradient(executor, operands.rows(0, 3), operands.rows(0, 4), grad_weight);
  EXPECT_EQ(operands.fetched(grad_weight), std::vector<float>(12, 0.0F));
}

}  // namespace
}  // namespace troupe::testing
