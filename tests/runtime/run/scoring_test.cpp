#include "runtime/run/scoring.hpp"

#include "tests/support/expect.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace troupe {
namespace {

constexpr double not_scored = -1;

Matrix scores_of_rows(std::size_t cols, const std::vector<float>& values) {
  Matrix m(values.size() / cols, cols);
  std::ranges::copy(values, m.data());
  return m;
}

std::vector<std::int64_t> all_seen(std::size_t rows) {
  return std::vector<std::int64_t>(rows, 0);
}

double value_of(const Scores& scores, const std::string& name) {
  return scores.by_name(name).value_or(not_scored);
}

// Ranks 1, 2 and, level with one of two, 1.5 + 1.
TEST(LinkScores, RankEachLinkAmongItsDrawnOnes) {
  const Matrix outputs = scores_of_rows(3, {5, 1, 2, 3, 4, 0, 1, 1, 7});

  const auto scores = score_links({.rows = 3}, outputs.view(), all_seen(3));

  EXPECT_EQ(scores.labelled, 3U);
  EXPECT_FALSE(scores.accuracy);
  EXPECT_NEAR(value_of(scores, "mr"), (1 + 2 + 2.5) / 3, 1e-12);
  EXPECT_NEAR(value_of(scores, "mrr"), (1 + 0.5 + 0.4) / 3, 1e-12);
  EXPECT_NEAR(value_of(scores, "hits@1"), 1.0 / 3, 1e-12);
  EXPECT_NEAR(value_of(scores, "hits@3"), 1, 1e-12);
  // Of 18 pairs 5 beats 5 of 6, 3 beats 4, 1 beats 1 and is level with 2.
  EXPECT_NEAR(*scores.auc, (5 + 4 + 1 + 1) / 18.0, 1e-12);
  EXPECT_GT(value_of(scores, "ap"), 0);
}

TEST(LinkScores, LeaveOutRowsThatWereNotSeen) {
  const Matrix outputs = scores_of_rows(2, {5, 1, 0, 9});

  const auto scores = score_links({.rows = 2}, outputs.view(), std::vector<std::int64_t>{0, -1});

  EXPECT_EQ(scores.labelled, 1U);
  EXPECT_EQ(*scores.auc, 1);
  EXPECT_EQ(*scores.by_name("ap"), 1);
}

TEST(SeedScores, HaveAveragePrecisionOfTwoClassesAndOfTargets) {
  const Matrix logits = scores_of_rows(1, {3, 2, 1, 5});
  const auto binary = score_seeds(logits.view(), std::vector<std::int64_t>{0, 1, 1, -1});
  EXPECT_NEAR(*binary.by_name("ap"), (1.0 / 2 + 2.0 / 3) / 2, 1e-12);

  const Matrix targets = scores_of_rows(2, {3, 1, 2, 2, 1, 3});
  const auto several = score_seeds(targets.view(), std::vector<std::int64_t>{1, 0, 0, 0, 0, 0});
  EXPECT_EQ(*several.by_name("ap"), 1) << "of the one target that has a positive entry";

  const Matrix three = scores_of_rows(3, {1, 2, 3});
  EXPECT_FALSE(score_seeds(three.view(), std::vector<std::int64_t>{2}).by_name("ap"));
}

TEST(LinkScores, GivenPairsHaveCandidatesAndFalseLinksOfTheirOwn) {
  // Two links with two candidates each, then three false links.
  const Matrix outputs = scores_of_rows(1, {5, 6, 1, 4, 2, 3, 0, 4.5F, 8});
  const GivenPairs given{.links = 2, .candidates = 2, .negatives = 3};
  ASSERT_EQ(given.rows(), 9U);

  const auto scores = score_links({.rows = 9, .given = given}, outputs.view(), all_seen(9));

  EXPECT_EQ(scores.labelled, 2U);
  EXPECT_NEAR(value_of(scores, "mrr"), (0.5 + 1) / 2, 1e-12);
  EXPECT_NEAR(*scores.auc, (2 + 1) / 6.0, 1e-12);  // against 0, 4.5 and 8
}

TEST(LinkScores, WithoutFalseLinksCandidatesAreToldFromAndWithoutBothNothingIsScored) {
  const Matrix outputs = scores_of_rows(1, {5, 6, 1});
  const auto ranked = score_links({.rows = 3, .given = GivenPairs{.links = 1, .candidates = 2}},
                                  outputs.view(), all_seen(3));
  EXPECT_NEAR(*ranked.auc, 0.5, 1e-12);

  const auto alone =
      score_links({.rows = 3, .given = GivenPairs{.links = 3}}, outputs.view(), all_seen(3));
  EXPECT_FALSE(alone.auc);
  EXPECT_EQ(value_of(alone, "mrr"), not_scored);
  const auto told = score_links({.rows = 3, .given = GivenPairs{.links = 1, .negatives = 2}},
                                outputs.view(), all_seen(3));
  EXPECT_TRUE(told.auc);
  EXPECT_EQ(value_of(told, "mrr"), not_scored);
}

/// Two edge types of two and three links, and one without any.
TEST(LinkScores, OfSeveralEdgeTypesAreMeansAndThoseOfEach) {
  const std::vector<float> values{5, 1, 3, 4, 2, 0, 1, 7, 6, 5};  // [5, 2]: a score, one drawn
  const ConstMatrix outputs{values.data(), 5, 2};
  const std::vector<std::int64_t> seen(5);
  const LinkScoring both{.rows = 5, .groups = {{"a", 0, 2}, {"none", 2, 0}, {"b", 2, 3}}};
  const auto scores = score_links(both, outputs, seen);
  const auto a = score_links({.rows = 2}, outputs.slice(0, 2), std::span(seen).first(2));
  const auto b = score_links({.rows = 3}, outputs.slice(2, 3), std::span(seen).first(3));
  EXPECT_EQ(scores.labelled, 5U);
  EXPECT_DOUBLE_EQ(*scores.auc, (*a.auc + *b.auc) / 2);
  for (const char* name : {"ap", "mrr", "mr", "hits@1", "hits@50"}) {
    EXPECT_DOUBLE_EQ(*scores.by_name(name), (*a.by_name(name) + *b.by_name(name)) / 2) << name;
    EXPECT_EQ(*scores.by_name(std::string("b.") + name), *b.by_name(name));
  }
  EXPECT_EQ(*scores.by_name("a.auc"), *a.auc);
  EXPECT_FALSE(scores.by_name("none.auc"));
  EXPECT_NE(*a.auc, *b.auc);
}

/// Counts of all nodes come at the end of each row.
TEST(LinkScores, OfSeveralEdgeTypesHaveGivenPairsOfTheirOwn) {
  Matrix outputs(9,
                 1);  // a link and two candidates; two links with a candidate each, two false ones
  std::ranges::copy(std::vector<float>{2, 3, 1, 5, 4, 0, 9, 2, 1}, outputs.data());
  const LinkScoring how{.rows = 9,
                        .groups = {{"a", 0, 3, GivenPairs{.links = 1, .candidates = 2}},
                                   {"b", 3, 6, GivenPairs{2, 1, 2}}}};

  const auto scores = score_links(how, outputs.view(), std::vector<std::int64_t>(9));

  EXPECT_EQ(scores.labelled, 3U);
  EXPECT_DOUBLE_EQ(*scores.by_name("a.mrr"), 0.5);
  EXPECT_DOUBLE_EQ(*scores.by_name("a.auc"), 0.5);
  EXPECT_DOUBLE_EQ(*scores.by_name("b.mrr"), (1 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(*scores.by_name("b.auc"), 0.5);  // 5 above 2 and 1, 0 below both
  EXPECT_DOUBLE_EQ(*scores.by_name("mrr"), (0.5 + 0.75) / 2);
}

TEST(LinkScores, OfSeveralEdgeTypesRankAmongAllNodesToo) {
  const std::vector<float> values{5, 1, 0, 0, 3, 0, 2, 4, 1, 1, 0, 0};
  const ConstMatrix outputs{values.data(), 2, 6};
  const std::vector<std::int64_t> seen(2);
  const auto scores =
      score_links({.all = true, .rows = 2, .groups = {{"a", 0, 1}, {"b", 1, 1}}}, outputs, seen);
  EXPECT_DOUBLE_EQ(*scores.by_name("a.mr"), (1 + 4) / 2.0);
  EXPECT_DOUBLE_EQ(*scores.by_name("b.mr"), (2.5 + 1) / 2);
  EXPECT_DOUBLE_EQ(*scores.by_name("mr"), (2.5 + 1.75) / 2);
}

TEST(LinkScores, OfADivergedModelHaveAnOrder) {
  const Matrix outputs = scores_of_rows(2, {NAN, 1, 2, NAN});

  const auto scores = score_links({.rows = 2}, outputs.view(), all_seen(2));

  EXPECT_NEAR(*scores.auc, (0 + 0.5 + 1 + 1) / 4, 1e-12);
}

TEST(SeedScores, RankTwoClassesWhoseProbabilitiesRoundToOne) {
  const Matrix logits = scores_of_rows(2, {0, 38, 0, 45, 0, 60, 0, 39});

  const auto scores = score_seeds(logits.view(), std::vector<std::int64_t>{0, 1, 1, 0});

  EXPECT_EQ(*scores.auc, 1);
}

TEST(EdgeScores, CompareClassesAndNumbersWithLabels) {
  const std::vector<float> labels{1, 0, 1, 0};
  const Matrix logits = scores_of_rows(2, {0, 1, 3, 1, 5, 1, 2, 0});
  const auto classes =
      score_links({.kind = LinkScoring::Kind::classes, .rows = 4, .labels = labels}, logits.view(),
                  std::vector<std::int64_t>{0, 0, 0, -1});
  EXPECT_EQ(classes.labelled, 3U);
  EXPECT_NEAR(*classes.accuracy, 2.0 / 3, 1e-12);

  const Matrix numbers = scores_of_rows(1, {1, 2, 4, 100});
  const auto errors = score_links({.kind = LinkScoring::Kind::numbers, .rows = 4, .labels = labels},
                                  numbers.view(), std::vector<std::int64_t>{0, 0, 0, -1});
  EXPECT_EQ(errors.labelled, 3U);
  EXPECT_NEAR(value_of(errors, "mae"), (0 + 2 + 3) / 3.0, 1e-12);
  EXPECT_NEAR(value_of(errors, "rmse"), std::sqrt((0 + 4 + 9) / 3.0), 1e-12);
}

TEST(ScoreNames, SayWhichWayIsBetter) {
  for (const char* lower : {"mr", "rmse", "mae"}) {
    EXPECT_TRUE(lower_is_better(lower));
  }
  for (const char* higher : {"auc", "ap", "mrr", "hits@10", "accuracy", "f1"}) {
    EXPECT_FALSE(lower_is_better(higher));
  }
}

}  // namespace
}  // namespace troupe
