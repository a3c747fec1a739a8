#include "runtime/nn/ops/seed_loss.hpp"

#include "tests/runtime/nn/nn_support.hpp"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr float unknown = std::numeric_limits<float>::quiet_NaN();

TEST(SeedLoss, CountsTheTermsThatAreKnown) {
  const std::vector<std::int64_t> labels = {0, -1, 3, -1, -1};
  const std::vector<float> targets = {unknown, 1, 0, unknown};
  EXPECT_EQ(seed_loss_weight({.labels = labels}), 2U);
  for (const auto kind : {SeedLossKind::bce_logits, SeedLossKind::numbers}) {
    EXPECT_EQ(seed_loss_weight({.kind = kind, .targets = {targets.data(), 2, 2}}), 2U);
  }
  EXPECT_EQ(seed_loss_weight({}), 0U);
  const std::vector<std::uint64_t> weights = {5, 100, 0, 7};
  EXPECT_EQ(seed_loss_weight({.labels = labels, .class_weights = weights}), 12U);
  EXPECT_EQ(seed_loss_weight({.kind = SeedLossKind::bce_logits,
                              .targets = {targets.data(), 1, 4},
                              .class_weights = weights,
                              .weight_unit = 8}),
            16U);
}

/// The slow twin: each seed alone, its gradient added to its row.
TEST(SeedLoss, IsTheSumOverTheSeedsWhateverRowsTheyShare) {
  const std::vector<std::uint32_t> row_of_seed = {2, 0, 2, 2, 3};
  const std::vector<std::int64_t> labels = {1, 0, -1, 2, 2};
  const Matrix rows = random_matrix(5, 3, 1);
  Matrix targets = random_matrix(5, 3, 2);
  targets.data()[4] = unknown;
  for (const auto kind :
       {SeedLossKind::cross_entropy, SeedLossKind::bce_logits, SeedLossKind::numbers}) {
    Matrix grad(5, 3);
    const auto result = seed_loss({.kind = kind,
                                   .row_of_seed = row_of_seed,
                                   .labels = labels,
                                   .targets = std::as_const(targets).view(),
                                   .pos_weight = 2},
                                  rows.view(), grad.view());
    LossResult expected;
    std::vector<float> expected_grad(15);
    for (std::size_t seed = 0; seed < row_of_seed.size(); ++seed) {
      const std::size_t row = row_of_seed[seed];
      const ConstMatrix logits = rows.view().slice(row, 1);
      const ConstMatrix target = std::as_const(targets).view().slice(seed, 1);
      Matrix own(1, 3);
      const auto one = kind == SeedLossKind::cross_entropy
                           ? cross_entropy(logits, std::span(labels).subspan(seed, 1), own.view())
                       : kind == SeedLossKind::bce_logits
                           ? bce_logits(logits, target, 2, own.view())
                           : number_loss({}, logits, target, own.view());
      expected.sum += one.sum;
      expected.weight += one.weight;
      for (std::size_t c = 0; c < 3; ++c) {
        expected_grad[row * 3 + c] += own.data()[c];
      }
    }
    EXPECT_NEAR(result.sum, expected.sum, 1e-12 * std::abs(expected.sum));
    EXPECT_EQ(result.weight, expected.weight);
    EXPECT_TRUE(same_bits(std::as_const(grad).view().flat(), expected_grad));
  }
}

/// Where rows are the seeds' own, nothing is added to gradients: not even a zero to a negative one.
TEST(SeedLoss, OfOwnRowsIsTheLossOfTheRows) {
  Matrix rows = random_matrix(4, 3, 1);
  Matrix targets = random_matrix(4, 3, 2);
  rows.data()[5] = -0.0F;
  targets.data()[5] = 0.0F;
  Matrix grad(4, 3);
  const auto result = seed_loss(
      {.kind = SeedLossKind::numbers, .own_rows = true, .targets = std::as_const(targets).view()},
      std::as_const(rows).view(), grad.view());
  Matrix expected(4, 3);
  const auto plain =
      number_loss({}, std::as_const(rows).view(), std::as_const(targets).view(), expected.view());

  EXPECT_EQ(result.sum, plain.sum);
  EXPECT_EQ(result.weight, plain.weight);
  EXPECT_TRUE(same_bits(std::as_const(grad).view().flat(), std::as_const(expected).view().flat()));
  EXPECT_TRUE(std::signbit(grad.data()[5]));
}

}  // namespace
}  // namespace troupe::nn
