#include "runtime/nn/ops/pair_scores.hpp"

#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

/// Rows of both ends and pairs among them; `relations` 0: dot products.
struct PairCase {
  Matrix sources;
  Matrix destinations;
  Matrix relations;
  std::vector<std::uint32_t> of;
  std::vector<std::uint32_t> to;

  RowPairs pairs() const { return {sources.view(), destinations.view(), of, to}; }
  ConstMatrix vectors() const { return relations.rows() == 0 ? ConstMatrix{} : relations.view(); }
  std::size_t score_cols() const { return relations.rows() == 0 ? 1 : relations.rows(); }
};

PairCase pair_case(std::size_t pairs, std::size_t cols, std::size_t relations) {
  PairCase made{.sources = random_matrix(37, cols, 1),
                .destinations = random_matrix(19, cols, 2),
                .relations = random_matrix(relations, cols, 3),
                .of = {},
                .to = {}};
  for (std::uint32_t i = 0; i < pairs; ++i) {
    made.of.push_back(i * 7 % 30);  // some rows have no pair, others many
    made.to.push_back(i % 5 == 0 ? 3 : i * 11 % 17);
  }
  return made;
}

/// The definition in float64. \returns [pairs, relations]
std::vector<double> twin_scores(const PairCase& of_case) {
  std::vector<double> scores;
  for (std::size_t i = 0; i < of_case.of.size(); ++i) {
    for (std::size_t r = 0; r < of_case.score_cols(); ++r) {
      double sum = 0;
      for (std::size_t c = 0; c < of_case.sources.cols(); ++c) {
        const double factor =
            of_case.relations.rows() == 0 ? 1 : of_case.relations.view().row(r)[c];
        sum += static_cast<double>(of_case.sources.view().row(of_case.of[i])[c]) * factor *
               of_case.destinations.view().row(of_case.to[i])[c];
      }
      scores.push_back(sum);
    }
  }
  return scores;
}

double twin_sum(const PairCase& of_case, ConstMatrix grad) {
  const auto scores = twin_scores(of_case);
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    sum += scores[i] * grad.data[i];
  }
  return sum;
}

struct PairResults {
  Matrix scores;
  Matrix sources;
  Matrix destinations;
  Matrix relations;
};

PairResults results_of(const PairCase& of_case, ConstMatrix grad, Executor& executor) {
  PairResults results{
      .scores = Matrix(of_case.of.size(), of_case.score_cols()),
      .sources = Matrix::zeros(of_case.sources.rows(), of_case.sources.cols()),
      .destinations = Matrix::zeros(of_case.destinations.rows(), of_case.destinations.cols()),
      .relations = Matrix::zeros(of_case.relations.rows(), of_case.relations.cols())};
  pair_scores(executor, of_case.pairs(), of_case.vectors(), results.scores.view());
  pair_scores_gradient(
      executor, of_case.pairs(), of_case.vectors(), grad,
      {results.sources.view(), results.destinations.view(), results.relations.view()});
  return results;
}

TEST(PairScores, EqualTheirDefinitionAndGradientsEqualDifferences) {
  for (const std::size_t relations : {0U, 1U, 3U}) {
    PairCase made = pair_case(40, 21, relations);
    const Matrix grad = random_matrix(40, made.score_cols(), 9);
    InlineExecutor executor;

    const auto results = results_of(made, grad.view(), executor);

    expect_close<float>(results.scores.view().flat(), twin_scores(made), 1e-6, "scores");
    const auto check = [&](Matrix& values, const Matrix& found, const char* what) {
      std::vector<double> expected;
      for (float& value : values.view().flat()) {
        const float kept = value;
        value = kept + 1;
        const double high = twin_sum(made, grad.view());
        value = kept - 1;
        const double low = twin_sum(made, grad.view());
        value = kept;
        expected.push_back((high - low) / 2);  // exact: the sum is linear in each value
      }
      expect_close<float>(found.view().flat(), expected, 1e-5, what);
    };
    check(made.sources, results.sources, "sources");
    check(made.destinations, results.destinations, "destinations");
    if (relations > 0) {
      check(made.relations, results.relations, "relations");
    }
  }
}

TEST(PairScores, BitsDoNotDependOnThreadsNorOnOtherPairs) {
  for (const std::size_t relations : {0U, 2U}) {
    const PairCase made = pair_case(1500, 33, relations);
    const Matrix grad = random_matrix(1500, made.score_cols(), 9);
    InlineExecutor one;
    ComputePool three(3);
    const auto expected = results_of(made, grad.view(), one);

    const auto found = results_of(made, grad.view(), three);
    PairCase few = pair_case(7, 33, relations);
    const auto of_few = results_of(few, grad.view().slice(0, 7), one);

    EXPECT_TRUE(same_bits(found.scores.view().flat(), expected.scores.view().flat()));
    EXPECT_TRUE(same_bits(found.sources.view().flat(), expected.sources.view().flat()));
    EXPECT_TRUE(same_bits(found.destinations.view().flat(), expected.destinations.view().flat()));
    EXPECT_TRUE(same_bits(found.relations.view().flat(), expected.relations.view().flat()));
    EXPECT_TRUE(same_bits(of_few.scores.view().flat(), expected.scores.view().slice(0, 7).flat()));
  }
}

// Both ends of one matrix: each row gets what it has as a source and as a destination.
TEST(PairScores, GradientsOfOneMatrixAddUp) {
  PairCase made = pair_case(50, 8, 0);
  made.destinations = copy_of(made.sources.view());
  const Matrix grad = random_matrix(50, 1, 9);
  InlineExecutor executor;
  const auto apart = results_of(made, grad.view(), executor);

  Matrix together = Matrix::zeros(made.sources.rows(), 8);
  pair_scores_gradient(executor, {made.sources.view(), made.sources.view(), made.of, made.to}, {},
                       grad.view(), {together.view(), together.view(), {}});

  std::vector<double> expected;
  for (std::size_t i = 0; i < together.view().size(); ++i) {
    expected.push_back(static_cast<double>(apart.sources.data()[i]) + apart.destinations.data()[i]);
  }
  expect_close<float>(together.view().flat(), expected, 1e-6, "rows");
}

TEST(PairScores, WithoutPairsNothingChanges) {
  const PairCase made = pair_case(0, 4, 2);
  InlineExecutor executor;

  const auto results = results_of(made, Matrix(0, 2).view(), executor);

  EXPECT_EQ(results.scores.rows(), 0U);
  for (const float value : results.relations.view().flat()) {
    EXPECT_EQ(value, 0.0F);
  }
}

TEST(PairScoresDeathTest, StopsOnShapesThatDisagree) {
  const PairCase made = pair_case(3, 4, 0);
  InlineExecutor executor;
  Matrix scores(2, 1);

  EXPECT_DEATH(pair_scores(executor, made.pairs(), {}, scores.view()), "pairs of rows 4 4 3 3 2");
}

}  // namespace
}  // namespace troupe::nn
