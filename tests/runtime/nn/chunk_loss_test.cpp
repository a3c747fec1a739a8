#include "runtime/nn/knowledge/chunk_loss.hpp"

#include "runtime/nn/knowledge/lane_math.hpp"
#include "tests/runtime/nn/link_loss_support.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST(ChunkSoftmax, EqualsItsDefinitionAndGradientsEqualDifferences) {
  for (const std::size_t negatives : {1U, 5U}) {
    auto at = random_scores(7, negatives, 11);
    const auto twin = [&] { return twin_of_softmax(at.scores().positive, at.scores().negative); };

    const auto loss = chunk_softmax(at.scores(), at.grads());

    EXPECT_NEAR(loss.sum, twin(), 1e-6 * loss.sum);
    EXPECT_EQ(loss.weight, 7U);
    expect_score_differences(at, twin);
  }
}

TEST(ChunkSoftmax, IsCrossEntropyOfThePositiveAmongAll) {
  auto at = random_scores(513, 3, 13);
  Matrix logits(513, 4);
  for (std::size_t i = 0; i < 513; ++i) {
    logits.view().row(i)[0] = at.positive.data()[i];
    std::ranges::copy(at.negative.view().row(i), logits.view().row(i).begin() + 1);
  }
  Matrix grad(513, 4);
  const std::vector<std::int64_t> labels(513, 0);

  const auto loss = chunk_softmax(at.scores(), at.grads());
  const auto whole = cross_entropy(logits.view(), labels, grad.view());

  EXPECT_NEAR(loss.sum, whole.sum, 1e-6 * whole.sum);
  EXPECT_NEAR(at.grad_negative.view().row(512)[2], grad.view().row(512)[3], 1e-6);
}

TEST(ChunkSoftmax, WithoutNegativesOrTriplesIsZero) {
  auto alone = random_scores(3, 0, 17);
  const auto loss = chunk_softmax(alone.scores(), alone.grads());
  EXPECT_EQ(loss.sum, 0);
  EXPECT_EQ(loss.weight, 3U);
  EXPECT_EQ(alone.grad_positive.data()[1], 0.0F);
  auto none = random_scores(0, 4, 17);
  EXPECT_EQ(chunk_softmax(none.scores(), none.grads()).weight, 0U);
}

TEST(ChunkSoftmax, StaysFiniteAtScoresOfAnySizeAndShowsNan) {
  constexpr float largest = std::numeric_limits<float>::max();
  for (const float score : {1e4F, -1e4F, largest, -largest}) {
    OwnedScores at{.positive = matrix_of({score}, 1, 1), .negative = matrix_of({0, -score}, 1, 2)};
    EXPECT_TRUE(std::isfinite(chunk_softmax(at.scores(), at.grads()).sum)) << score;
    EXPECT_TRUE(std::isfinite(at.grad_positive.data()[0])) << score;
  }
  for (const bool in_positive : {true, false}) {
    auto at = random_scores(2, 3, 19);
    (in_positive ? at.positive : at.negative).data()[1] = NAN;
    EXPECT_TRUE(std::isnan(chunk_softmax(at.scores(), at.grads()).sum)) << in_positive;
  }
}

TEST(ChunkSelfAdversarial, EqualsItsDefinitionAndGradientsEqualDifferences) {
  GrowBuffer<float> memory;
  for (const double margin : {0.0, 2.5}) {
    auto at = random_scores(6, 4, 23);
    const Matrix fixed = copy_of(at.scores().negative);
    const auto twin = [&] {
      return twin_of_self_adversarial(at.scores().positive, at.scores().negative, fixed.view(),
                                      margin, 0.5);
    };

    const auto loss = chunk_self_adversarial(at.scores(), margin, 0.5, at.grads(), memory);

    EXPECT_NEAR(loss.sum, twin(), 1e-6 * loss.sum);
    EXPECT_EQ(loss.weight, 6U);
    expect_score_differences(at, twin);
  }
}

TEST(ChunkSelfAdversarial, WithoutMarginIsThatOfLinks) {
  GrowBuffer<float> memory;
  auto a = random_scores(5, 3, 29);
  auto b = random_scores(5, 3, 29);

  const auto chunk = chunk_self_adversarial(a.scores(), 0, 1, a.grads(), memory);
  const auto links = link_self_adversarial(b.scores(), 1, b.grads());

  EXPECT_NEAR(chunk.sum, links.sum, 1e-6 * links.sum);
  EXPECT_EQ(a.grad_positive.data()[2], b.grad_positive.data()[2]);
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_NEAR(a.grad_negative.data()[i], b.grad_negative.data()[i], 1e-7);
  }
}

TEST(ChunkSelfAdversarial, StaysFiniteAtScoresOfAnySizeAndShowsNan) {
  constexpr float largest = std::numeric_limits<float>::max();
  GrowBuffer<float> memory;
  for (const float score : {1e4F, -1e4F, largest, -largest}) {
    OwnedScores at{.positive = matrix_of({score}, 1, 1),
                   .negative = matrix_of({0, -score, score}, 1, 3)};
    EXPECT_TRUE(std::isfinite(chunk_self_adversarial(at.scores(), 3, 1, at.grads(), memory).sum))
        << score;
    for (const float grad : at.grad_negative.view().flat()) {
      EXPECT_TRUE(std::isfinite(grad)) << score;
    }
  }
  for (const bool in_positive : {true, false}) {
    auto at = random_scores(2, 3, 19);
    (in_positive ? at.positive : at.negative).data()[1] = NAN;
    EXPECT_TRUE(std::isnan(chunk_self_adversarial(at.scores(), 3, 1, at.grads(), memory).sum));
  }
}

TEST(ChunkSelfAdversarial, WithoutNegativesTheirHalfIsZero) {
  GrowBuffer<float> memory;
  OwnedScores at{.positive = Matrix::zeros(3, 1), .negative = Matrix(3, 0)};
  EXPECT_NEAR(chunk_self_adversarial(at.scores(), 0, 1, at.grads(), memory).sum,
              1.5 * std::log(2.0), 1e-12);
  OwnedScores none{.positive = Matrix(0, 1), .negative = Matrix(0, 4)};
  EXPECT_EQ(chunk_self_adversarial(none.scores(), 0, 1, none.grads(), memory).sum, 0);
}

TEST(LaneMath, IsExactToSevenDigits) {
  for (int i = 0; i <= 40000; ++i) {
    const float x = static_cast<float>(i) * -0.00218F;
    const double exact = std::exp(static_cast<double>(x));
    ASSERT_NEAR(exp_below_zero(x), exact, 3e-7 * exact) << x;
    const float e = static_cast<float>(i) / 40000;
    const double logarithm = std::log1p(static_cast<double>(e));
    ASSERT_NEAR(log_of_one_and(e), logarithm, 3e-7 * logarithm) << e;
  }
  EXPECT_EQ(exp_below_zero(0), 1.0F);
  EXPECT_EQ(exp_below_zero(-0.0F), 1.0F);
  EXPECT_EQ(exp_below_zero(-88), 0.0F);
  EXPECT_EQ(exp_below_zero(-std::numeric_limits<float>::infinity()), 0.0F);
  EXPECT_TRUE(std::isnan(exp_below_zero(NAN)));
  EXPECT_TRUE(std::isnan(log_of_one_and(NAN)));
}

TEST(Regularize, GradientsEqualDifferences) {
  for (const bool complex_rows : {false, true}) {
    for (const auto kind : {Regularization::l2, Regularization::n3}) {
      Matrix rows = random_matrix(3, 6, 31);
      Matrix grad = Matrix::zeros(3, 6);
      Matrix ignored(3, 6);

      regularize(kind, complex_rows, 0.25, rows.view(), grad.view());

      const auto loss = [&] {
        return 0.25 * regularize(kind, complex_rows, 0, rows.view(), ignored.view());
      };
      expect_differences(rows.view().flat(), grad.view().flat(), loss,
                         {.step = 0x1p-10F, .tolerance = 1e-6}, "rows");
    }
  }
}

// Rows (3, 4) and (-2, 0): as complex numbers 3 + 4i and -2.
TEST(Regularize, SumsWhatItSays) {
  const Matrix rows = matrix_of({3, 4, -2, 0}, 2, 2);
  Matrix grad = matrix_of({1, 1, 1, 1}, 2, 2);
  const auto sum = [&](Regularization kind, bool complex_rows) {
    return regularize(kind, complex_rows, 0, rows.view(), grad.view());
  };

  EXPECT_EQ(sum(Regularization::l2, false), 29);
  EXPECT_EQ(sum(Regularization::n3, false), 27 + 64 + 8);
  EXPECT_EQ(sum(Regularization::n3, true), 125 + 8);
  EXPECT_EQ(sum(Regularization::none, false), 0);
  EXPECT_EQ(grad.data()[0], 1.0F) << "a factor of 0 adds nothing";
  regularize(Regularization::l2, false, 0.5, rows.view(), grad.view());
  EXPECT_EQ(grad.data()[0], 4.0F) << "added to what is there";
}

}  // namespace
}  // namespace troupe::nn
