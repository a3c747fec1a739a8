#include "runtime/nn/class_weights.hpp"

#include "runtime/nn/ops/loss.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/support/expect.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

const std::string weighted_golden = "class_weights/";

std::vector<std::int64_t> golden_labels() {
  return golden(weighted_golden + "labels").as<std::int64_t>();
}

ClassWeights whole_weights(const std::vector<double>& weights, std::uint64_t terms = 1000) {
  auto made = whole_class_weights(weights, terms);
  EXPECT_OK(made);
  return *std::move(made);
}

Matrix divided(Matrix grad, std::uint64_t weight) {
  for (float& value : grad.view().flat()) {
    value /= static_cast<float>(weight);
  }
  return grad;
}

void expect_cross_entropy(const std::vector<double>& weights, const std::string& name) {
  const Matrix logits = golden_matrix(weighted_golden + "logits");
  Matrix grad(logits.rows(), logits.cols());

  const auto loss = cross_entropy(logits.view(), golden_labels(), grad.view(),
                                  whole_weights(relative_weights(weights)).of_class);

  const double truth = golden_truth(weighted_golden + name + "_loss")[0];
  EXPECT_NEAR(loss.sum / static_cast<double>(loss.weight), truth, 1e-6 * truth);
  expect_golden(divided(std::move(grad), loss.weight).view(), weighted_golden + name + "_grad",
                1e-6);
}

TEST(ClassWeights, GiveThePyTorchMeanOfCrossEntropy) {
  expect_cross_entropy(golden_truth(weighted_golden + "weights"), "cross_entropy");
}

TEST(ClassWeights, BalancedOnesAreThoseOfScikitLearn) {
  const auto counts = golden(weighted_golden + "counts").as<std::uint64_t>();
  const auto balanced = balanced_class_weights(counts);

  expect_close<double>(balanced, golden_truth(weighted_golden + "balanced"), 1e-15, "balanced");
  expect_cross_entropy(balanced, "cross_entropy_balanced");
  EXPECT_EQ(balanced_class_weights(std::vector<std::uint64_t>{6, 0, 2}),
            (std::vector<double>{8.0 / 18, 0, 8.0 / 6}));
}

TEST(ClassWeights, OfLabelsGiveThePyTorchMeanOfBinaryLogits) {
  const Matrix logits = golden_matrix(weighted_golden + "logits");
  const auto weights =
      whole_weights(golden_truth(weighted_golden + "weights"), logits.view().size());
  Matrix grad(logits.rows(), logits.cols());

  const auto loss = bce_logits(
      logits.view(), golden_matrix(weighted_golden + "targets").view(),
      {.positive = 2.5F, .of_column = weights.of_class, .unit = weights.unit}, grad.view());

  const double truth = golden_truth(weighted_golden + "bce_loss")[0];
  EXPECT_EQ(loss.weight, weights.unit * logits.view().size());
  EXPECT_NEAR(loss.sum / static_cast<double>(loss.weight), truth, 1e-6 * truth);
  expect_golden(divided(std::move(grad), loss.weight).view(), weighted_golden + "bce_grad", 1e-6);
}

TEST(ClassWeights, GradientsAreDifferencesOfTheLoss) {
  const auto weights = whole_weights({0.25, 3, 1});
  const std::vector<std::int64_t> labels{1, 0, -1, 2};
  Matrix logits = random_matrix(4, 3, 5);
  Matrix grad(4, 3);
  cross_entropy(logits.view(), labels, grad.view(), weights.of_class);
  const double unit = static_cast<double>(weights.unit);
  for (std::size_t i = 0; i < 12; ++i) {
    constexpr float step = 1e-2F;
    const float middle = logits.data()[i];
    Matrix unused(4, 3);
    const auto at = [&](float value) {
      logits.data()[i] = value;
      const auto loss = cross_entropy(logits.view(), labels, unused.view(), weights.of_class);
      return loss.sum / unit;
    };
    const double slope = (at(middle + step) - at(middle - step)) / (2 * double{step});
    logits.data()[i] = middle;
    EXPECT_NEAR(grad.data()[i] / unit, slope, 1e-4) << i;
  }
}

/// A common factor of all weights is a power of two, which changes no bit of a mean.
TEST(ClassWeights, EqualOnesGiveTheBitsOfNone) {
  const Matrix logits = golden_matrix(weighted_golden + "logits");
  const Matrix targets = golden_matrix(weighted_golden + "targets");
  Matrix plain(logits.rows(), logits.cols());
  const auto none = cross_entropy(logits.view(), golden_labels(), plain.view());
  Matrix plain_bce(logits.rows(), logits.cols());
  const auto none_bce = bce_logits(logits.view(), targets.view(), 2.5F, plain_bce.view());
  for (const double factor : {1.0, 0.3, 1e6}) {
    SCOPED_TRACE(factor);
    const auto weights = whole_weights(relative_weights(std::vector<double>(5, factor)));
    Matrix grad(logits.rows(), logits.cols());

    const auto loss = cross_entropy(logits.view(), golden_labels(), grad.view(), weights.of_class);
    EXPECT_EQ(loss.sum / static_cast<double>(loss.weight),
              none.sum / static_cast<double>(none.weight));
    EXPECT_TRUE(same_bits(divided(copy_of(grad.view()), loss.weight).view().flat(),
                          divided(copy_of(plain.view()), none.weight).view().flat()));

    const auto bce = bce_logits(
        logits.view(), targets.view(),
        {.positive = 2.5F, .of_column = weights.of_class, .unit = weights.unit}, grad.view());
    EXPECT_EQ(bce.sum / static_cast<double>(bce.weight),
              none_bce.sum / static_cast<double>(none_bce.weight));
    EXPECT_TRUE(same_bits(divided(copy_of(grad.view()), bce.weight).view().flat(),
                          divided(copy_of(plain_bce.view()), none_bce.weight).view().flat()));
  }
}

TEST(ClassWeights, AClassOfWeightZeroCountsAsUnlabelled) {
  const Matrix logits = random_matrix(2, 3, 1);
  Matrix grad = random_matrix(2, 3, 2);
  const std::vector<std::uint64_t> weights{4, 0, 1};

  const auto loss =
      cross_entropy(logits.view(), std::vector<std::int64_t>{1, 1}, grad.view(), weights);

  EXPECT_EQ(loss.weight, 0U);
  EXPECT_EQ(loss.sum, 0);
  EXPECT_TRUE(same_bits(grad.view().flat(), std::vector<float>(6)));
}

/// Ratios of an imbalanced graph stay near, and no sum over an epoch leaves 64 bits.
TEST(ClassWeights, WholeOnesKeepRatiosAndHaveRoomForTheirSum) {
  for (const std::uint64_t terms : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 20,
                                    (std::uint64_t{1} << 24) + 1, std::uint64_t{1} << 34}) {
    const std::vector<double> weights{1, 1e-4, 0, 0.7, 1e-12};
    const auto made = whole_weights(weights, terms);
    EXPECT_LE(static_cast<double>(terms) * static_cast<double>(made.of_class[0]), 0x1p63);
    EXPECT_LE(static_cast<double>(terms) * static_cast<double>(made.unit), 0x1p63);
    EXPECT_EQ(made.of_class[0], made.unit);
    EXPECT_EQ(made.of_class[2], 0U);
    EXPECT_GE(made.of_class[4], 1U);
    const double error = 0.5 / static_cast<double>(made.unit);
    EXPECT_NEAR(static_cast<double>(made.of_class[1]) / static_cast<double>(made.unit), 1e-4,
                error);
    EXPECT_NEAR(static_cast<double>(made.of_class[3]) / static_cast<double>(made.unit), 0.7, error);
  }
  const auto large = whole_weights({1e6, 2}, 1);
  EXPECT_LE(large.of_class[0], std::uint64_t{1} << 40);
  EXPECT_EQ(large.of_class[1], 2 * large.unit);
}

TEST(ClassWeights, RefusesThoseThatMakeNoMean) {
  const auto refused = [](std::vector<double> weights, std::uint64_t terms) {
    return whole_class_weights(weights, terms);
  };
  EXPECT_ERROR(refused({0, 0}, 5), Errc::invalid_argument, "expected one above 0, found 2 of 0");
  EXPECT_ERROR(refused({1, -0.5}, 5), Errc::invalid_argument, "found -0.5");
  EXPECT_ERROR(refused({std::numeric_limits<double>::infinity()}, 5), Errc::invalid_argument,
               "found inf");
  EXPECT_ERROR(refused({std::nan("")}, 5), Errc::invalid_argument, "found nan");
  EXPECT_ERROR(refused({1e6, 1}, std::uint64_t{1} << 50), Errc::invalid_argument,
               "try: smaller weights");
}

TEST(ClassWeightsDeathTest, AreAsManyAsClasses) {
  const Matrix logits = random_matrix(1, 4, 1);
  Matrix grad(1, 4);
  EXPECT_DEATH(cross_entropy(logits.view(), std::vector<std::int64_t>{1}, grad.view(),
                             std::vector<std::uint64_t>{1, 2}),
               "class weights");
}

}  // namespace
}  // namespace troupe::nn
