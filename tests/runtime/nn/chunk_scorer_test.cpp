#include "runtime/nn/knowledge/chunk_scorer.hpp"

#include "tests/runtime/nn/knowledge_support.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

struct OwnedGradients {
  explicit OwnedGradients(const ChunkRows& rows)
      : known(rows.known.rows(), rows.known.cols()),
        relation(rows.relation.rows(), rows.relation.cols()),
        answer(rows.answer.rows(), rows.answer.cols()),
        negative(rows.negative.rows(), rows.negative.cols()) {
    for (Matrix* m : {&known, &relation, &answer, &negative}) {
      std::ranges::fill(m->view().flat(), NAN);  // everything is to be overwritten
    }
  }
  ChunkGradients out() { return {known.view(), relation.view(), answer.view(), negative.view()}; }

  Matrix known;
  Matrix relation;
  Matrix answer;
  Matrix negative;
};

/// Rows of a table, by the ids of a golden.
Matrix rows_at(const Matrix& table, const std::string& ids) {
  const auto at = golden(ids).as<std::int64_t>();
  Matrix rows(at.size(), table.cols());
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::ranges::copy(table.view().row(static_cast<std::size_t>(at[i])),
                      rows.view().row(i).begin());
  }
  return rows;
}

void add_at(const Matrix& rows, const std::string& ids, Matrix& table) {
  const auto at = golden(ids).as<std::int64_t>();
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto to = table.view().row(static_cast<std::size_t>(at[i]));
    for (std::size_t c = 0; c < to.size(); ++c) {
      to[c] += rows.view().row(i)[c];
    }
  }
}

class EachScore : public ::testing::TestWithParam<std::tuple<ScoreCase, ReplacedEnd>> {
 protected:
  const TripleScore& score() const { return std::get<0>(GetParam()).score; }
  ReplacedEnd replaced() const { return std::get<1>(GetParam()); }
  bool tail() const { return replaced() == ReplacedEnd::tail; }
};

// Positives of a chunk without negatives, then all entities as the negatives of the same triples.
TEST_P(EachScore, MatchesItsGolden) {
  const std::string path = "scores/" + std::get<0>(GetParam()).name + "/";
  const Matrix entity = golden_matrix(path + "entity");
  const Matrix relation = golden_matrix(path + "relation");
  const std::string known = tail() ? "scores/head" : "scores/tail";
  const std::string answer = tail() ? "scores/tail" : "scores/head";
  OwnedChunk chunk{rows_at(entity, known), rows_at(relation, "scores/rel"), rows_at(entity, answer),
                   copy_of(entity.view())};
  const Matrix grad_out = golden_matrix(path + "grad_out");
  const auto answers = golden(answer).as<std::int64_t>();
  ChunkScorer scorer(score());

  const auto scores = scorer.forward(replaced(), chunk.rows());

  expect_golden(scores.positive, path + "out", 2e-6);
  std::vector<float> among_all;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    among_all.push_back(scores.negative.row(i)[static_cast<std::size_t>(answers[i])]);
  }
  expect_golden(among_all, path + "out", 2e-6);
  for (const bool as_negatives : {false, true}) {
    // The upstream gradient of the answers, as positives or among all.
    Matrix positive = Matrix::zeros(answers.size(), 1);
    Matrix negative = Matrix::zeros(answers.size(), entity.rows());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const auto at = static_cast<std::size_t>(answers[i]);
      (as_negatives ? negative.view().row(i)[at] : positive.data()[i]) = grad_out.data()[i];
    }
    OwnedGradients grads(chunk.rows());
    scorer.backward({positive.view().flat(), negative.view()});
    scorer.gradients(grads.out());
    Matrix grad_entity = copy_of(grads.negative.view());
    add_at(grads.known, known, grad_entity);
    add_at(grads.answer, answer, grad_entity);
    Matrix grad_relation = Matrix::zeros(relation.rows(), relation.cols());
    add_at(grads.relation, "scores/rel", grad_relation);
    expect_golden(grad_entity.view(), path + "grad_entity", 2e-6);
    expect_golden(grad_relation.view(), path + "grad_relation", 2e-6);
  }
}

TEST_P(EachScore, EqualsItsDefinitionForAnyNumberOfRows) {
  for (const auto& shape : {ChunkShape{0, 3, 8}, ChunkShape{3, 0, 8}, ChunkShape{1, 1, 2},
                            ChunkShape{5, 65, 34}, ChunkShape{511, 7, 6}, ChunkShape{512, 3, 6},
                            ChunkShape{513, 64, 6}, ChunkShape{4, 513, 20}}) {
    const auto chunk = random_chunk(score(), shape, 3 + shape.triples);
    const auto rows = chunk.rows();
    ChunkScorer scorer(score());
    const auto scores = scorer.forward(replaced(), rows);
    ASSERT_EQ(scores.positive.size(), shape.triples);
    ASSERT_EQ(scores.negative.cols, shape.negatives);
    for (std::size_t i = 0; i < shape.triples; ++i) {
      const double twin = twin_of(score(), replaced(), rows, i, rows.answer.row(i));
      ASSERT_NEAR(scores.positive[i], twin, 2e-6 * (1 + std::abs(twin))) << i;
      for (std::size_t j = 0; j < shape.negatives; ++j) {
        const double other = twin_of(score(), replaced(), rows, i, rows.negative.row(j));
        ASSERT_NEAR(scores.negative.row(i)[j], other, 1e-5 * (1 + std::abs(other)))
            << i << ' ' << j;
      }
    }
  }
}

/// A change of the loss Σ score * upstream with one element.
TEST_P(EachScore, GradientsEqualDifferences) {
  auto chunk = random_chunk(score(), {4, 5, 6}, 17);
  // Repeated rows.
  std::ranges::copy(chunk.known.view().row(0), chunk.known.view().row(2).begin());
  std::ranges::copy(chunk.negative.view().row(1), chunk.negative.view().row(3).begin());
  const Matrix up_positive = random_matrix(4, 1, 18);
  const Matrix up_negative = random_matrix(4, 5, 19);
  const auto loss = [&] {
    const auto rows = chunk.rows();
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      sum += up_positive.data()[i] * twin_of(score(), replaced(), rows, i, rows.answer.row(i));
      for (std::size_t j = 0; j < 5; ++j) {
        sum += up_negative.view().row(i)[j] *
               twin_of(score(), replaced(), rows, i, rows.negative.row(j));
      }
    }
    return sum;
  };
  ChunkScorer scorer(score());
  scorer.forward(replaced(), chunk.rows());
  OwnedGradients grads(chunk.rows());

  scorer.backward({up_positive.view().flat(), up_negative.view()});
  scorer.gradients(grads.out());

  const auto check = [&](Matrix& rows, const Matrix& grad, const char* what) {
    expect_differences(rows.view().flat(), grad.view().flat(), loss,
                       {.step = 0x1p-12F, .tolerance = 2e-5}, what);
  };
  check(chunk.known, grads.known, "known");
  check(chunk.relation, grads.relation, "relation");
  check(chunk.answer, grads.answer, "answer");
  check(chunk.negative, grads.negative, "negative");
}

TEST_P(EachScore, ScorersThatWorkedOnOtherChunksGiveTheSameBits) {
  const auto chunk = random_chunk(score(), {37, 70, 10}, 23);
  const auto other = random_chunk(score(), {80, 90, 12}, 29);
  const Matrix up_positive = random_matrix(37, 1, 31);
  const Matrix up_negative = random_matrix(37, 70, 37);
  const auto run = [&](ChunkScorer& scorer, OwnedGradients& grads) {
    const auto scores = scorer.forward(replaced(), chunk.rows());
    const Matrix kept = copy_of(scores.negative);
    scorer.backward({up_positive.view().flat(), up_negative.view()});
    scorer.gradients(grads.out());
    return copy_of(kept.view());
  };
  ChunkScorer fresh(score());
  ChunkScorer used(score());
  used.forward(ReplacedEnd::head, other.rows());
  OwnedGradients first(chunk.rows());
  OwnedGradients second(chunk.rows());

  const Matrix a = run(fresh, first);
  const Matrix b = run(used, second);

  EXPECT_TRUE(same_bits(a.view().flat(), b.view().flat()));
  EXPECT_TRUE(same_bits(first.known.view().flat(), second.known.view().flat()));
  EXPECT_TRUE(same_bits(first.relation.view().flat(), second.relation.view().flat()));
  EXPECT_TRUE(same_bits(first.negative.view().flat(), second.negative.view().flat()));
}

TEST_P(EachScore, RowsOfZerosHaveFiniteScoresAndGradients) {
  OwnedChunk chunk{Matrix::zeros(2, 4), Matrix::zeros(2, score().relation_cols(4)),
                   Matrix::zeros(2, 4), Matrix::zeros(3, 4)};
  ChunkScorer scorer(score());
  const auto scores = scorer.forward(replaced(), chunk.rows());
  for (const float value : scores.negative.flat()) {
    EXPECT_EQ(value, 0.0F);
  }
  const Matrix up_positive = random_matrix(2, 1, 1);
  const Matrix up_negative = random_matrix(2, 3, 2);
  OwnedGradients grads(chunk.rows());

  scorer.backward({up_positive.view().flat(), up_negative.view()});
  scorer.gradients(grads.out());

  for (const Matrix* grad : {&grads.known, &grads.relation, &grads.answer, &grads.negative}) {
    for (const float value : grad->view().flat()) {
      EXPECT_EQ(value, 0.0F);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scores, EachScore,
                         ::testing::Combine(::testing::ValuesIn(score_cases()),
                                            ::testing::Values(ReplacedEnd::tail,
                                                              ReplacedEnd::head)),
                         [](const auto& test) {
                           const bool tail = std::get<1>(test.param) == ReplacedEnd::tail;
                           return std::get<0>(test.param).name + (tail ? "_tail" : "_head");
                         });

// The products would give a distance of some 1e-4 there, in place of 1e-6.
TEST(ChunkScorer, NearCandidatesAreNotLostInRounding) {
  const TripleScore score{ScoreKind::transe, 2, false};
  auto chunk = random_chunk(score, {1, 2, 64}, 5);
  for (std::size_t c = 0; c < 64; ++c) {
    chunk.negative.view().row(0)[c] = chunk.known.data()[c] + chunk.relation.data()[c];
    chunk.negative.view().row(1)[c] = chunk.negative.view().row(0)[c];
  }
  chunk.negative.view().row(1)[3] += 0x1p-20F;
  ChunkScorer scorer(score);

  const auto scores = scorer.forward(ReplacedEnd::tail, chunk.rows());

  EXPECT_EQ(scores.negative.row(0)[0], 0.0F);
  const double twin =
      twin_of(score, ReplacedEnd::tail, chunk.rows(), 0, chunk.negative.view().row(1));
  EXPECT_NEAR(scores.negative.row(0)[1], twin, 2e-7);
  const Matrix up_positive = Matrix::zeros(1, 1);
  const Matrix up_negative = matrix_of({1, 1}, 1, 2);
  OwnedGradients grads(chunk.rows());
  scorer.backward({up_positive.view().flat(), up_negative.view()});
  scorer.gradients(grads.out());
  EXPECT_EQ(grads.negative.view().row(0)[3], 0.0F) << "none where the distance is 0";
  EXPECT_NEAR(grads.negative.view().row(1)[3], -1.0F, 1e-3);
}

TEST(ChunkScorer, NanShows) {
  for (const auto& of : score_cases()) {
    auto chunk = random_chunk(of.score, {3, 4, 6}, 7);
    chunk.negative.data()[7] = NAN;
    ChunkScorer scorer(of.score);
    const auto scores = scorer.forward(ReplacedEnd::tail, chunk.rows());
    EXPECT_TRUE(std::isnan(scores.negative.row(0)[1])) << of.name;
    EXPECT_FALSE(std::isnan(scores.negative.row(0)[0])) << of.name;
  }
}

TEST(ChunkScorerDeathTest, StopsOnShapesThatDisagree) {
  const TripleScore score{ScoreKind::complex, 2, false};
  const auto chunk = random_chunk(score, {3, 2, 6}, 1);
  const auto odd = random_chunk(score, {3, 2, 5}, 1);
  ChunkScorer scorer(score);
  auto rows = chunk.rows();
  rows.answer = std::as_const(chunk.answer).view().slice(0, 2);

  EXPECT_DEATH(scorer.forward(ReplacedEnd::tail, rows), "rows of a chunk");
  EXPECT_DEATH(scorer.forward(ReplacedEnd::tail, odd.rows()), "columns of complex rows");
}

}  // namespace
}  // namespace troupe::nn
