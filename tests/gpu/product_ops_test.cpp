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

/// Of the largest. Float32 has 6e-8, and there are sums of up to 1,025. Operands of tf32 are cut to 10
/// bits after the leading one, at most 2^-9 of a product; those of bf16 are rounded to 7, 2^-8.
double tolerance_of(nn::Precision precision) {
  return precision == nn::Precision::float32 ? 1e-5
         : precision == nn::Precision::tf32  ? 2.5e-3
                                             : 1e-2;
}

void expect_products_of_float64(Operands& on, std::size_t rows, std::size_t in, std::size_t out,
                                nn::Precision precision) {
  const auto what = fmt::format("{} x {} x {} in {}", rows, in, out, nn::to_string(precision));
  const double tolerance = tolerance_of(precision);
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

void expect_products_of_float64(const OnTestDevice& device, nn::Precision precision) {
  const auto ops = device.block_ops(precision);
  ASSERT_NE(ops, nullptr);
  Operands operands(*ops);
  for (const std::size_t rows : {1U, 2U, 63U, 64U, 65U, 1025U}) {
    for (const std::size_t in : {1U, 7U, 100U, 128U}) {
      for (const std::size_t out : {1U, 16U, 47U}) {
        expect_products_of_float64(operands, rows, in, out, precision);
      }
    }
  }
}

TEST_P(ProductOps, ProductsAreNearFloat64) {
  expect_products_of_float64(on(), nn::Precision::float32);
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

/// A GPU's products have bits of their own.
class EmulatedProducts : public BlockOpsTest {};

INSTANTIATE_TEST_SUITE_P(Devices, EmulatedProducts, ::testing::Values(one_thread, several_threads),
                         name_of_device);

TEST_P(EmulatedProducts, HaveTheBitsOfTheCpuInBf16) {
  const Operation products = [](Operands& operands) {
    Results results;
    InlineExecutor executor;
    for (const std::uint32_t rows : some_rows) {
      const Matrix x_here = random_matrix(rows, 24, 1);
      const Matrix grad_here = random_matrix(rows, 16, 2);
      const Matrix weight_here = random_matrix(16, 24, 3);
      const Matrix heads_here = random_matrix(24, 8, 4);  // 3 heads of 8 columns
      const MutMatrix x = operands.copied(x_here);
      const MutMatrix grad = operands.copied(grad_here);
      const MutMatrix weight = operands.copied(weight_here);
      const MutMatrix heads = operands.copied(heads_here);
      nn::TermWork term;
      term.source = x;
      term.weight = weight;
      const auto sums = combined(operands, {term, term}, {}, rows, 16);
      results.floats.insert(results.floats.end(), sums.floats.begin(), sums.floats.end());
      const MutMatrix grad_x = operands.rows(rows, 24);
      operands.ops().product_backward(executor, grad, weight, grad_x);
      results.floats.push_back(operands.fetched(grad_x));
      const MutMatrix grad_weight = operands.rows(16, 24);
      operands.ops().weight_gradient(executor, grad, x, grad_weight);
      results.floats.push_back(operands.fetched(grad_weight));
      const MutMatrix y = operands.rows(rows, 24);
      operands.ops().head_products(executor, x, heads, y);
      results.floats.push_back(operands.fetched(y));
      const MutMatrix grad_heads = operands.rows(24, 8);
      operands.ops().head_products_gradient(executor, grad_x, x, grad_heads);
      results.floats.push_back(operands.fetched(grad_heads));
    }
    return results;
  };
  expect_same(products, "products in bf16", nn::Precision::bf16);
}

/// The precisions of CUDA devices: skipped where there is none.
class CoarseProducts : public OnEachDevice {
 protected:
  /// A gradient of weights, as wide as layers are.
  std::vector<float> gradient_of_weights(nn::Precision precision) const {
    constexpr std::size_t rows = 2048;
    constexpr std::size_t columns = 256;
    const auto ops = on().block_ops(precision);
    Operands operands(*ops);
    InlineExecutor executor;
    const MutMatrix sum = operands.rows(columns, columns);
    ops->weight_gradient(executor, operands.copied(random_matrix(rows, columns, 1)),
                         operands.copied(random_matrix(rows, columns, 2)), sum);
    return operands.fetched(sum);
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, CoarseProducts, ::testing::Values(cuda_device), name_of_device);

TEST_P(CoarseProducts, AreNearFloat64) {
  expect_products_of_float64(on(), nn::Precision::tf32);
  expect_products_of_float64(on(), nn::Precision::bf16);
}

TEST_P(CoarseProducts, HaveEqualBitsInEachRunAndOthersThanFloat32) {
  const auto float32 = gradient_of_weights(nn::Precision::float32);
  for (const auto precision : {nn::Precision::tf32, nn::Precision::bf16}) {
    const auto found = gradient_of_weights(precision);
    EXPECT_TRUE(nn::testing::same_bits(gradient_of_weights(precision), found))
        << nn::to_string(precision);
    EXPECT_FALSE(nn::testing::same_bits(found, float32)) << nn::to_string(precision);
  }
}

}  // namespace
}  // namespace troupe::testing
