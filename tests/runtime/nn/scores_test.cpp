#include "runtime/nn/scores.hpp"

#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

using Labels = std::vector<std::int64_t>;

TEST(Scores, MulticlassMatchesGolden) {
  const std::string path = "metrics/multiclass/";
  const Matrix logits = golden_matrix(path + "logits");
  const Labels labels = golden(path + "labels").as<std::int64_t>();

  const Labels predicted = predict_classes(logits.view());
  const auto share = accuracy(predicted, labels);
  const auto f1 = f1_scores(predicted, labels, logits.cols());

  ASSERT_TRUE(share && f1);
  EXPECT_NEAR(*share, golden_truth(path + "accuracy")[0], 1e-12);
  EXPECT_NEAR(f1->micro, golden_truth(path + "f1_micro")[0], 1e-12);
  EXPECT_NEAR(f1->macro_all, golden_truth(path + "f1_macro_all")[0], 1e-12);
  EXPECT_NEAR(f1->macro_present, golden_truth(path + "f1_macro_present")[0], 1e-12);
  expect_close<double>(f1->per_class, golden_truth(path + "f1_per_class"), 1e-12, "per class");
}

TEST(Scores, MultilabelMatchesGolden) {
  const std::string path = "metrics/multilabel/";
  const Matrix logits = golden_matrix(path + "logits");
  const auto targets = golden_floats(path + "targets");

  const auto scores = multilabel_scores(logits.view(), known_labels(targets));

  ASSERT_TRUE(scores);
  EXPECT_NEAR(scores->f1_micro, golden_truth(path + "f1_micro")[0], 1e-12);
  EXPECT_NEAR(scores->f1_macro, golden_truth(path + "f1_macro_all")[0], 1e-12);
}

// Labels a: known 1, 0, unknown; b: never positive, never predicted; c: unknown everywhere.
TEST(Scores, UnknownTargetsCountNowhere) {
  const std::vector<float> targets = {1, 0, NAN, 0, 0, NAN, NAN, 0, NAN};
  const Matrix logits = matrix_of({2, -1, 5, 1, -1, 5, 9, -1, 5}, 3, 3);

  const Labels labels = known_labels(targets);
  const auto scores = multilabel_scores(logits.view(), labels);

  EXPECT_EQ(labels, (Labels{1, 0, -1, 0, 0, -1, -1, 0, -1}));
  ASSERT_TRUE(scores);
  EXPECT_DOUBLE_EQ(scores->accuracy, 4.0 / 5.0);      // the 0 of label a is predicted 1
  EXPECT_DOUBLE_EQ(scores->f1_micro, 2.0 / 3.0);      // 1 hit, 2 predicted, 1 true
  EXPECT_DOUBLE_EQ(scores->f1_macro, 2.0 / 3.0 / 3);  // labels b and c count 0
  EXPECT_EQ(scores->auc, 1.0);                        // of label a alone
}

TEST(Scores, NothingKnownHasNoMultilabelScores) {
  const Matrix logits = matrix_of({2, -1}, 1, 2);

  EXPECT_FALSE(multilabel_scores(logits.view(), Labels{-1, -1}));
  const auto one_kind = multilabel_scores(logits.view(), Labels{0, -1});
  ASSERT_TRUE(one_kind);
  EXPECT_EQ(one_kind->auc, std::nullopt);
  EXPECT_EQ(one_kind->f1_micro, 0);
}

TEST(Scores, LowestClassWinsATie) {
  const Matrix logits = matrix_of({1, 3, 3, -1, -1, -1}, 2, 3);

  EXPECT_EQ(predict_classes(logits.view()), (Labels{1, 0}));
}

TEST(Scores, NothingLabelledHasNoAccuracyAndNoF1) {
  EXPECT_EQ(accuracy(Labels{1, 2}, Labels{-1, -1}), std::nullopt);
  EXPECT_FALSE(f1_scores(Labels{1}, Labels{-1}, 3).has_value());
  EXPECT_EQ(accuracy(Labels{}, Labels{}), std::nullopt);
}

TEST(Scores, AucMatchesGoldens) {
  for (const std::string name : {"plain", "ties", "all_tied", "perfect"}) {
    const std::string path = "metrics/auc_" + name + "/";

    const auto auc =
        roc_auc(golden_truth(path + "scores"), golden(path + "labels").as<std::int64_t>());

    ASSERT_TRUE(auc) << name;
    EXPECT_NEAR(*auc, golden_truth(path + "auc")[0], 1e-12) << name;
  }
}

TEST(Scores, AucEqualsCountingAllPairs) {
  std::vector<double> scores;
  Labels labels;
  DrawStream draw(stream_key(7, {.domain = Domain::generators}), 0);
  for (int i = 0; i < 60; ++i) {
    scores.push_back(draw.below(12));
    labels.push_back(static_cast<std::int64_t>(draw.below(3)) - 1);
  }
  double wins = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    for (std::size_t j = 0; j < 60; ++j) {
      if (labels[i] == 1 && labels[j] == 0) {
        wins += scores[i] > scores[j] ? 1.0 : scores[i] == scores[j] ? 0.5 : 0.0;
        pairs += 1;
      }
    }
  }

  const auto auc = roc_auc(scores, labels);

  ASSERT_TRUE(auc);
  EXPECT_NEAR(*auc, wins / pairs, 1e-15);
}

TEST(Scores, AucOfOneClassIsNothingAndOfNanIsDefined) {
  EXPECT_EQ(roc_auc(std::vector<double>{1, 2}, Labels{1, 1}), std::nullopt);
  EXPECT_EQ(roc_auc(std::vector<double>{1, 2}, Labels{0, -1}), std::nullopt);
  EXPECT_EQ(roc_auc(std::vector<double>{NAN, NAN, NAN}, Labels{0, 1, 1}), 0.5);
  EXPECT_EQ(roc_auc(std::vector<double>{NAN, 1, 2}, Labels{0, 1, 1}), 1.0);
}

TEST(Scores, MarginsOfClassOneAreNotTiedWhereProbabilitiesRound) {
  const Matrix logits = matrix_of({0, 38, 0, 45, 0, 60, 0, 39, 20, -25}, 5, 2);

  const auto margins = class_one_margins(logits.view());

  EXPECT_EQ(margins, (std::vector<double>{38, 45, 60, 39, -45}));
  EXPECT_EQ(roc_auc(margins, Labels{0, 1, 1, 0, 0}), 1.0);
}

TEST(ScoresDeathTest, F1StopsOnAClassPastTheEnd) {
  EXPECT_DEATH(f1_scores(Labels{3}, Labels{0}, 3), "class 3 of 3");
}

}  // namespace
}  // namespace troupe::nn
