#include "runtime/nn/ops/link_loss.hpp"

#include "tests/runtime/nn/link_loss_support.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <utility>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

using LossFunction = std::function<LossResult(const LinkScores&, const LinkGradients&)>;

/// A loss with its definition in plain float64.
/// `fixed` are the scores that a softmax without gradient reads.
struct LinkLossCase {
  std::string name;
  LossFunction loss;
  std::function<double(std::span<const float> positive, ConstMatrix negative, ConstMatrix fixed)>
      twin;
};

double twin_of_bce(std::span<const float> positive, ConstMatrix negative, double own,
                   double of_negative) {
  double sum = 0;
  for (const float score : positive) {
    sum += own * minus_log_sigmoid(score);
  }
  for (const float score : negative.flat()) {
    sum += of_negative * minus_log_sigmoid(-score);
  }
  return sum;
}

double twin_of_margin(std::span<const float> positive, ConstMatrix negative) {
  double sum = 0;
  for (std::size_t i = 0; i < positive.size(); ++i) {
    for (const float score : negative.row(i)) {
      sum += std::max(0.0, 1.0 - static_cast<double>(positive[i]) + static_cast<double>(score));
    }
  }
  return sum;
}

/// The first four have goldens.
std::vector<LinkLossCase> link_loss_cases(std::size_t count = 6) {
  std::vector<LinkLossCase> all(6);
  all[0] = {"link_bce", link_bce, [](auto positive, auto negative, auto) {
              return twin_of_bce(positive, negative, 1, 1);
            }};
  all[1] = {"link_bce_balanced", link_bce_balanced, [](auto positive, auto negative, auto) {
              return twin_of_bce(positive, negative, 0.5, 0.5 / static_cast<double>(negative.cols));
            }};
  all[2] = {"link_margin",
            [](const auto& scores, const auto& grads) { return link_margin(scores, 1, grads); },
            [](auto positive, auto negative, auto) { return twin_of_margin(positive, negative); }};
  all[3] = {
      "link_self_adversarial",
      [](const auto& scores, const auto& grads) { return link_self_adversarial(scores, 1, grads); },
      [](auto positive, auto negative, auto fixed) {
        return twin_of_self_adversarial(positive, negative, fixed, 0, 1);
      }};
  all[4] = {"link_self_adversarial_sharper",
            [](const auto& scores, const auto& grads) {
              return link_self_adversarial(scores, 2.5, grads);
            },
            [](auto positive, auto negative, auto fixed) {
              return twin_of_self_adversarial(positive, negative, fixed, 0, 2.5);
            }};
  all[5] = {"link_softmax", link_softmax,
            [](auto positive, auto negative, auto) { return twin_of_softmax(positive, negative); }};
  all.resize(count);
  return all;
}

struct Links : OwnedScores {
  LossResult operator()(const LossFunction& loss) { return loss(scores(), grads()); }
};

Links random_links(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  Links links{random_scores(rows, cols, seed)};
  for (Matrix* scores : {&links.positive, &links.negative}) {
    for (float& value : scores->view().flat()) {
      value *= 3;
    }
  }
  return links;
}

class EachLinkLoss : public ::testing::TestWithParam<LinkLossCase> {};

class LinkLossOfGolden : public EachLinkLoss {};

TEST_P(LinkLossOfGolden, MatchesItsGolden) {
  const std::string path = "losses/" + GetParam().name + "/";
  Links links{{.positive = golden_matrix(path + "pos"), .negative = golden_matrix(path + "neg")}};

  const LossResult loss = links(GetParam().loss);
  for (Matrix* grad : {&links.grad_positive, &links.grad_negative}) {
    for (float& value : grad->view().flat()) {
      value /= static_cast<float>(loss.weight);
    }
  }

  const double truth = golden_truth(path + "out")[0];
  EXPECT_NEAR(loss.sum / static_cast<double>(loss.weight), truth, 2e-6 * truth);
  expect_golden(links.grad_positive.view(), path + "grad_pos", 2e-6);
  expect_golden(links.grad_negative.view(), path + "grad_neg", 2e-6);
}

TEST_P(EachLinkLoss, EqualsItsDefinitionAndGradientsEqualDifferences) {
  Links links = random_links(9, 5, 21);
  const Matrix fixed = copy_of(links.scores().negative);
  const auto definition = [&] {
    const LinkScores scores = links.scores();
    return GetParam().twin(scores.positive, scores.negative, fixed.view());
  };

  const LossResult loss = links(GetParam().loss);

  EXPECT_NEAR(loss.sum, definition(), 1e-12 * loss.sum);
  expect_score_differences(links, definition);
}

TEST_P(EachLinkLoss, OverwritesGradientsAndRepeatsItsBits) {
  Links links = random_links(7, 3, 31);
  const LossResult first = links(GetParam().loss);
  const Matrix positive = copy_of(links.grad_positive.view());
  const Matrix negative = copy_of(links.grad_negative.view());

  const LossResult second = links(GetParam().loss);

  EXPECT_EQ(first.sum, second.sum);
  EXPECT_TRUE(same_bits(positive.view().flat(), links.grad_positive.view().flat()));
  EXPECT_TRUE(same_bits(negative.view().flat(), links.grad_negative.view().flat()));
}

TEST_P(EachLinkLoss, RowsAddUp) {
  Links all = random_links(6, 4, 41);
  const LossResult whole = all(GetParam().loss);
  double sum = 0;
  std::uint64_t weight = 0;
  for (const std::size_t first : {std::size_t{0}, std::size_t{2}}) {
    const std::size_t count = first == 0 ? 2 : 4;
    const auto positive = std::as_const(all.positive).view().slice(first, count);
    const auto negative = std::as_const(all.negative).view().slice(first, count);
    Links part{{.positive = copy_of(positive), .negative = copy_of(negative)}};
    const LossResult share = part(GetParam().loss);
    sum += share.sum;
    weight += share.weight;
    const auto grad = all.grad_negative.view().slice(first, count);
    EXPECT_TRUE(same_bits(part.grad_negative.view().flat(), grad.flat()));
  }

  EXPECT_NEAR(sum, whole.sum, 1e-12 * whole.sum);
  EXPECT_EQ(weight, whole.weight);
}

TEST_P(EachLinkLoss, ShowsNan) {
  for (const bool in_positive : {true, false}) {
    Links links = random_links(3, 2, 51);
    (in_positive ? links.positive : links.negative).data()[1] = NAN;

    EXPECT_TRUE(std::isnan(links(GetParam().loss).sum)) << in_positive;
  }
}

TEST_P(EachLinkLoss, StaysFiniteAtScoresOfAnySize) {
  constexpr float largest = std::numeric_limits<float>::max();
  for (const float score : {1e4F, -1e4F, largest, -largest}) {
    Links links{{.positive = matrix_of({score, -score}, 2, 1),
                 .negative = matrix_of({score, 0, -score, score}, 2, 2)}};

    EXPECT_TRUE(std::isfinite(links(GetParam().loss).sum)) << score;
    for (const float grad : links.grad_negative.view().flat()) {
      EXPECT_TRUE(std::isfinite(grad)) << score;
    }
  }
}

TEST_P(EachLinkLoss, WithoutLinksIsZero) {
  Links links{{.positive = Matrix(0, 1), .negative = Matrix(0, 4)}};

  const LossResult loss = links(GetParam().loss);

  EXPECT_EQ(loss.sum, 0);
  EXPECT_EQ(loss.weight, 0U);
}

INSTANTIATE_TEST_SUITE_P(Goldens, LinkLossOfGolden, ::testing::ValuesIn(link_loss_cases(4)),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Links, EachLinkLoss, ::testing::ValuesIn(link_loss_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(LinkLoss, WithoutNegativesOnlyTrueLinksCount) {
  const double one = std::log(2.0);  // softplus(0)
  Links links{{.positive = Matrix::zeros(3, 1), .negative = Matrix(3, 0)}};

  EXPECT_NEAR(links(link_bce).sum, 3 * one, 1e-12);
  EXPECT_NEAR(links(link_bce_balanced).sum, 1.5 * one, 1e-12);
  const auto adversarial = links([](const auto& scores, const auto& grads) {
    return link_self_adversarial(scores, 1, grads);
  });
  EXPECT_NEAR(adversarial.sum, 1.5 * one, 1e-12);
  EXPECT_EQ(links.grad_positive.data()[2], -0.25F);
  const auto margin = links([](const auto& s, const auto& g) { return link_margin(s, 1, g); });
  EXPECT_EQ(margin.sum, 0);
  EXPECT_EQ(margin.weight, 0U);
  EXPECT_EQ(links.grad_positive.data()[2], 0.0F);
}

// Margin 1: a pair at 1 apart is just far enough, one at 0.5 lacks 0.5, one at 2 nothing.
TEST(LinkLoss, MarginCountsPairsThatAreTooClose) {
  Links links{{.positive = matrix_of({1}, 1, 1), .negative = matrix_of({0, 0.5F, -1}, 1, 3)}};

  const auto loss = links([](const auto& s, const auto& g) { return link_margin(s, 1, g); });

  EXPECT_EQ(loss.sum, 0.5);
  EXPECT_EQ(loss.weight, 3U);
  EXPECT_EQ(links.grad_positive.data()[0], -1.0F);
  EXPECT_EQ(links.grad_negative.data()[0], 0.0F);
  EXPECT_EQ(links.grad_negative.data()[1], 1.0F);
  EXPECT_EQ(links.grad_negative.data()[2], 0.0F);
}

// Even shares at temperature 0, where the loss is the balanced one.
TEST(LinkLoss, SelfAdversarialWithoutTemperatureIsBalanced) {
  Links a = random_links(5, 4, 61);
  Links b = random_links(5, 4, 61);

  const auto even = a([](const auto& s, const auto& g) { return link_self_adversarial(s, 0, g); });
  const auto balanced = b(link_bce_balanced);

  EXPECT_NEAR(even.sum, balanced.sum, 1e-12);
  EXPECT_TRUE(same_bits(a.grad_negative.view().flat(), b.grad_negative.view().flat()));
}

TEST(LinkLossDeathTest, StopsOnShapesThatDisagree) {
  Links links = random_links(3, 2, 71);
  Matrix short_rows(2, 2);
  const auto loss = [&](const LinkScores& scores, const LinkGradients& grads) {
    return link_bce(scores, grads).sum;
  };

  EXPECT_DEATH(loss({links.positive.view().flat(), short_rows.view()},
                    {links.grad_positive.view().flat(), short_rows.view()}),
               "link loss 3 2 2");
  EXPECT_DEATH(loss(links.scores(), {links.grad_positive.view().flat(), short_rows.view()}),
               "link loss 3 3 2 3 2 2");
}

}  // namespace
}  // namespace troupe::nn
