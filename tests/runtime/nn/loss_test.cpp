#include "runtime/nn/ops/loss.hpp"

#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr double loss_tolerance = 2e-6;

void divide(Matrix& m, std::uint64_t weight) {
  for (float& value : m.view().flat()) {
    value /= static_cast<float>(weight);
  }
}

TEST(CrossEntropy, MatchesGolden) {
  const std::string path = "losses/cross_entropy/";
  const Matrix logits = golden_matrix(path + "logits");
  const auto labels = golden(path + "labels").as<std::int64_t>();
  Matrix grad(logits.rows(), logits.cols());

  const LossResult loss = cross_entropy(logits.view(), labels, grad.view());
  divide(grad, loss.weight);

  EXPECT_EQ(loss.weight, labels.size() - static_cast<std::size_t>(std::ranges::count(labels, -1)));
  const double truth = golden_truth(path + "out")[0];
  EXPECT_NEAR(loss.sum / static_cast<double>(loss.weight), truth, loss_tolerance * truth);
  expect_golden(grad.view(), path + "grad_logits", loss_tolerance);
}

TEST(CrossEntropy, WithoutLabelsIsZero) {
  const Matrix logits = random_matrix(3, 4, 1);
  Matrix grad = random_matrix(3, 4, 2);

  const LossResult loss =
      cross_entropy(logits.view(), std::vector<std::int64_t>{-1, -1, -1}, grad.view());

  EXPECT_EQ(loss.sum, 0);
  EXPECT_EQ(loss.weight, 0U);
  EXPECT_EQ(std::ranges::count(grad.view().flat(), 0.0F), 12);
}

TEST(CrossEntropy, ShowsNan) {
  const Matrix logits = matrix_of({NAN, 1}, 1, 2);
  Matrix grad(1, 2);

  EXPECT_TRUE(
      std::isnan(cross_entropy(logits.view(), std::vector<std::int64_t>{1}, grad.view()).sum));
}

TEST(CrossEntropyDeathTest, StopsOnALabelPastTheClasses) {
  const Matrix logits = random_matrix(1, 4, 1);
  Matrix grad(1, 4);

  EXPECT_DEATH(cross_entropy(logits.view(), std::vector<std::int64_t>{4}, grad.view()), "label 4");
  EXPECT_DEATH(cross_entropy(logits.view(), std::vector<std::int64_t>{-2}, grad.view()),
               "label -2");
}

TEST(BceLogits, MatchesGolden) {
  const std::string path = "losses/bce_logits/";
  const Matrix logits = golden_matrix(path + "logits");
  Matrix grad(logits.rows(), logits.cols());

  const LossResult loss =
      bce_logits(logits.view(), golden_matrix(path + "targets").view(), 1.0F, grad.view());
  divide(grad, loss.weight);

  EXPECT_EQ(loss.weight, logits.view().size());
  const double truth = golden_truth(path + "out")[0];
  EXPECT_NEAR(loss.sum / static_cast<double>(loss.weight), truth, loss_tolerance * truth);
  expect_golden(grad.view(), path + "grad_logits", loss_tolerance);
}

Matrix column_of(const Matrix& m, std::size_t c) {
  Matrix column(m.rows(), 1);
  for (std::size_t r = 0; r < m.rows(); ++r) {
    column.data()[r] = m.view().row(r)[c];
  }
  return column;
}

TEST(BceLogits, WithPositiveWeightMatchesGoldenColumnByColumn) {
  const std::string path = "losses/bce_logits_pos_weight/";
  const Matrix logits = golden_matrix(path + "logits");
  const Matrix targets = golden_matrix(path + "targets");
  const auto pos_weight = golden_floats(path + "pos_weight");
  Matrix grad(logits.rows(), logits.cols());
  double sum = 0;

  for (std::size_t c = 0; c < logits.cols(); ++c) {
    Matrix grad_column(logits.rows(), 1);
    sum += bce_logits(column_of(logits, c).view(), column_of(targets, c).view(), pos_weight[c],
                      grad_column.view())
               .sum;
    for (std::size_t r = 0; r < logits.rows(); ++r) {
      grad.view().row(r)[c] = grad_column.data()[r];
    }
  }
  divide(grad, grad.view().size());

  const double truth = golden_truth(path + "out")[0];
  EXPECT_NEAR(sum / static_cast<double>(logits.view().size()), truth, loss_tolerance * truth);
  expect_golden(grad.view(), path + "grad_logits", loss_tolerance);
}

TEST(BceLogits, UnknownTargetsAddNothing) {
  const Matrix logits = matrix_of({0.5F, -1, 2, 3}, 2, 2);
  const Matrix targets = matrix_of({1, NAN, NAN, 0}, 2, 2);
  Matrix grad(2, 2);

  const auto result = bce_logits(logits.view(), targets.view(), 1.0F, grad.view());

  EXPECT_EQ(result.weight, 2U);
  EXPECT_NEAR(result.sum, std::log1p(std::exp(-0.5)) + 3 + std::log1p(std::exp(-3.0)), 1e-12);
  EXPECT_EQ(grad.data()[1], 0.0F);
  EXPECT_EQ(grad.data()[2], 0.0F);
  EXPECT_NEAR(grad.data()[0], -1 / (1 + std::exp(0.5)), 1e-6);
  EXPECT_NEAR(grad.data()[3], 1 / (1 + std::exp(-3.0)), 1e-6);
}

}  // namespace
}  // namespace troupe::nn
