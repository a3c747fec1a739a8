#include "runtime/nn/ops/row_ops.hpp"
#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr double ops_tolerance = 2e-6;

TEST(Relu, MatchesGolden) {
  const Matrix x = golden_matrix("ops/relu/x");
  Matrix grad = golden_matrix("ops/relu/grad_out");
  Matrix y(x.rows(), x.cols());

  relu_rows(x.view(), y.view());
  relu_backward_rows(y.view(), 1.0F, grad.view());

  expect_golden(y.view(), "ops/relu/out", ops_tolerance);
  expect_golden(grad.view(), "ops/relu/grad_x", ops_tolerance);
}

TEST(Relu, KeepsNanSoThatDivergenceShows) {
  Matrix x = matrix_of({NAN, -1, 0, 2}, 1, 4);

  relu_rows(x.view(), x.view());

  EXPECT_TRUE(std::isnan(x.data()[0]));
  EXPECT_EQ(std::vector<float>(x.data() + 1, x.data() + 4), (std::vector<float>{0, 0, 2}));
}

/// Every pair of numbers that differ in kind, so that vectors and what is left over see each.
TEST(Activations, HaveTheBitsOfTheirDefinitionsForNumbersOfEachKind) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> kinds{NAN, -inf, -3, -1e-40F, -0.0F, 0.0F, 1e-40F, 0.75F, 2, inf};
  std::vector<float> outs;
  std::vector<float> grads;
  for (const float out : kinds) {
    outs.insert(outs.end(), kinds.size(), out);
    grads.insert(grads.end(), kinds.begin(), kinds.end());
  }
  const Matrix y = matrix_of(outs, 1, outs.size());
  const auto expect = [&](const Matrix& found, const auto& definition, const char* what) {
    for (std::size_t i = 0; i < outs.size(); ++i) {
      const float expected = definition(outs[i], grads[i]);
      EXPECT_TRUE(std::isnan(expected) ? std::isnan(found.data()[i])
                                       : std::bit_cast<std::uint32_t>(found.data()[i]) ==
                                             std::bit_cast<std::uint32_t>(expected))
          << what << " of " << outs[i] << ", " << grads[i] << ": " << found.data()[i];
    }
  };
  Matrix grad = matrix_of(grads, 1, grads.size());
  relu_backward_rows(y.view(), 2.0F, grad.view());
  expect(
      grad, [](float out, float g) { return out <= 0 ? 0.0F : g * 2.0F; }, "ReLU's gradient");

  Matrix activated(1, outs.size());
  activate_rows(Activation::leaky_relu, 0.2F, y.view(), activated.view());
  expect(
      activated, [](float x, float) { return x > 0 ? x : x * 0.2F; }, "leaky ReLU");
  grad = matrix_of(grads, 1, grads.size());
  activate_backward_rows(Activation::leaky_relu, 0.2F, y.view(), 2.0F, grad.view());
  expect(
      grad, [](float out, float g) { return g * (out > 0 ? 1.0F : 0.2F); },
      "leaky ReLU's gradient");
  grad = matrix_of(grads, 1, grads.size());
  activate_backward_rows(Activation::elu, 0.0F, y.view(), 2.0F, grad.view());
  expect(
      grad, [](float out, float g) { return g * (out > 0 ? 1.0F : out / 2.0F + 1.0F); },
      "ELU's gradient");
}

struct ActivationCase {
  std::string name;
  Activation activation;
  float slope;
};
void PrintTo(const ActivationCase& of, std::ostream* out) {
  *out << of.name;
}

class EachActivation : public ::testing::TestWithParam<ActivationCase> {};

TEST_P(EachActivation, MatchTheirGoldens) {
  const auto& of = GetParam();
  const std::string path = "ops/" + of.name + "/";
  const Matrix x = golden_matrix(path + "x");
  Matrix grad = golden_matrix(path + "grad_out");
  Matrix y(x.rows(), x.cols());

  activate_rows(of.activation, of.slope, x.view(), y.view());
  activate_backward_rows(of.activation, of.slope, y.view(), 1.0F, grad.view());

  expect_golden(y.view(), path + "out", ops_tolerance);
  expect_golden(grad.view(), path + "grad_x", ops_tolerance);
}

TEST_P(EachActivation, HaveTheGradientOfTheResultBeforeADropoutScaledIt) {
  const auto& of = GetParam();
  const Matrix x = golden_matrix("ops/" + of.name + "/x");
  Matrix y(x.rows(), x.cols());
  activate_rows(of.activation, of.slope, x.view(), y.view());
  Matrix scaled = copy_of(y.view());
  std::ranges::for_each(scaled.view().flat(), [](float& value) { value *= 4; });
  Matrix grad = golden_matrix("ops/" + of.name + "/grad_out");
  Matrix same = copy_of(grad.view());

  activate_backward_rows(of.activation, of.slope, y.view(), 1.0F, grad.view());
  activate_backward_rows(of.activation, of.slope, scaled.view(), 4.0F, same.view());

  EXPECT_TRUE(same_bits(grad.view().flat(), same.view().flat()));
}

TEST_P(EachActivation, KeepNanInPlace) {
  Matrix x = matrix_of({NAN, -1, 0, 2}, 1, 4);

  activate_rows(GetParam().activation, GetParam().slope, x.view(), x.view());

  EXPECT_TRUE(std::isnan(x.data()[0]));
  EXPECT_LT(x.data()[1], 0);
  EXPECT_EQ(x.data()[2], 0);
  EXPECT_EQ(x.data()[3], 2);
}

INSTANTIATE_TEST_SUITE_P(
    Goldens, EachActivation,
    ::testing::Values(ActivationCase{"elu", Activation::elu, 0},
                      ActivationCase{"leaky_relu_0.01", Activation::leaky_relu, 0.01F},
                      ActivationCase{"leaky_relu_0.2", Activation::leaky_relu, 0.2F}));

TEST(LayerNorm, MatchesGolden) {
  const std::string path = "ops/layer_norm/";
  const Matrix x = golden_matrix(path + "x");
  const auto gain = golden_floats(path + "gamma");
  Matrix grad = golden_matrix(path + "grad_out");
  Matrix y(x.rows(), x.cols());
  std::vector<NormStats> stats(x.rows());
  std::vector<float> grad_gain(x.cols());
  std::vector<float> grad_bias(x.cols());

  layer_norm_rows(x.view(), gain, golden_floats(path + "beta"), stats, y.view());
  layer_norm_backward_rows(x.view(), stats, gain, grad.view(), grad_gain, grad_bias);

  expect_golden(y.view(), path + "out", ops_tolerance);
  expect_golden(grad.view(), path + "grad_x", ops_tolerance);
  expect_golden(grad_gain, path + "grad_gamma", ops_tolerance);
  expect_golden(grad_bias, path + "grad_beta", ops_tolerance);
}

TEST(LayerNorm, WideRowsHaveMeanZeroAndVarianceOne) {
  for (const std::size_t cols : {16U, 17U, 31U, 256U}) {
    const Matrix x = random_matrix(3, cols, cols);
    Matrix y(3, cols);
    std::vector<NormStats> stats(3);

    layer_norm_rows(x.view(), std::vector<float>(cols, 1.0F), std::vector<float>(cols, 0.0F), stats,
                    y.view());

    for (std::size_t r = 0; r < 3; ++r) {
      double sum = 0;
      double squares = 0;
      for (const float value : y.view().row(r)) {
        sum += value;
        squares += static_cast<double>(value) * value;
      }
      EXPECT_NEAR(sum / static_cast<double>(cols), 0, 1e-6);
      EXPECT_NEAR(squares / static_cast<double>(cols), 1, 1e-3);
    }
  }
}

TEST(LayerNorm, ConstantRowGivesTheBias) {
  Matrix x = matrix_of({3, 3, 3}, 1, 3);
  std::vector<NormStats> stats(1);

  layer_norm_rows(x.view(), std::vector<float>{5, 5, 5}, std::vector<float>{1, 2, 3}, stats,
                  x.view());

  EXPECT_EQ(std::vector<float>(x.data(), x.data() + 3), (std::vector<float>{1, 2, 3}));
}

TEST(L2Normalize, MatchesGolden) {
  Matrix y = golden_matrix("ops/l2_normalize/x");
  Matrix grad = golden_matrix("ops/l2_normalize/grad_out");
  std::vector<float> lengths(y.rows());

  l2_normalize_rows(y.view(), lengths);
  l2_normalize_backward_rows(y.view(), lengths, grad.view());

  expect_golden(y.view(), "ops/l2_normalize/out", ops_tolerance);
  expect_golden(grad.view(), "ops/l2_normalize/grad_x", ops_tolerance);
}

TEST(L2Normalize, LeavesAZeroRowZero) {
  Matrix y = matrix_of({0, 0, 3, 4}, 2, 2);
  std::vector<float> lengths(2);

  l2_normalize_rows(y.view(), lengths);

  EXPECT_EQ(std::vector<float>(y.data(), y.data() + 4), (std::vector<float>{0, 0, 0.6F, 0.8F}));
  EXPECT_EQ(lengths, (std::vector<float>{0, 5}));
}

}  // namespace
}  // namespace troupe::nn
