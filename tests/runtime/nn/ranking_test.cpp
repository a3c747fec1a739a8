#include "runtime/nn/ranking.hpp"

#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

using Classes = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Offsets = std::vector<std::uint64_t>;
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Queries that own their arrays.
struct OwnedQueries {
  Floats answers;
  Offsets offsets = {0};
  Floats candidates;
  void add(float answer, const Floats& others) {
    answers.push_back(answer);
    candidates.insert(candidates.end(), others.begin(), others.end());
    offsets.push_back(candidates.size());
  }
  RankingQueries view() const { return {answers, offsets, candidates}; }
};

/// Queries of the golden: all entities but the target, or but all known answers.
OwnedQueries golden_queries(bool filtered) {
  const std::string path = "metrics/ranking/";
  const Matrix scores = golden_matrix(path + "scores");
  const auto target = golden(path + "target").as<std::size_t>();
  const auto indptr = golden(path + "known_indptr").as<std::size_t>();
  const auto known = golden(path + "known_indices").as<std::size_t>();
  OwnedQueries queries;
  for (std::size_t q = 0; q < target.size(); ++q) {
    const std::span<const std::size_t> answers =
        std::span(known).subspan(indptr[q], indptr[q + 1] - indptr[q]);
    Floats others;
    for (std::size_t entity = 0; entity < scores.cols(); ++entity) {
      const bool left_out =
          filtered ? std::ranges::count(answers, entity) > 0 : entity == target[q];
      if (!left_out) {
        others.push_back(scores.view().row(q)[entity]);
      }
    }
    queries.add(scores.view().row(q)[target[q]], others);
  }
  return queries;
}

TEST(Ranking, MatchesGoldensRawAndFiltered) {
  for (const std::string kind : {"raw", "filtered"}) {
    const OwnedQueries queries = golden_queries(kind == "filtered");
    const auto ranks = golden_truth("metrics/ranking/" + kind + "_ranks");  // average: the last row
    const auto hits = golden_truth("metrics/ranking/" + kind + "_hits");
    const std::size_t count = queries.answers.size();

    const auto scores = ranking_scores(queries.view(), Offsets{1, 3, 10});

    ASSERT_TRUE(scores) << kind;
    EXPECT_EQ(scores->queries, count);
    EXPECT_NEAR(scores->reciprocal_rank, golden_truth("metrics/ranking/" + kind + "_mrr")[2],
                1e-12);
    EXPECT_NEAR(
        scores->mean_rank,
        std::accumulate(ranks.end() - static_cast<std::ptrdiff_t>(count), ranks.end(), 0.0) /
            static_cast<double>(count),
        1e-12);
    expect_close<double>(scores->hits, std::span(hits).last(3), 1e-12, kind);
    for (std::size_t q = 0; q < count; ++q) {
      const auto view = queries.view();
      EXPECT_EQ(average_rank(view.answers[q],
                             view.candidates.subspan(view.offsets[q],
                                                     view.offsets[q + 1] - view.offsets[q])),
                ranks[2 * count + q])
          << kind << q;
    }
  }
}

TEST(Ranking, MatchesTheGoldenOfPositivesAgainstTheirNegatives) {
  const auto positives = golden_floats("metrics/ogb/pos");
  const Matrix negatives = golden_matrix("metrics/ogb/neg");
  const auto ranks = golden_truth("metrics/ogb/ranks");
  const auto hits = golden_truth("metrics/ogb/hits_global");
  OwnedQueries queries;
  for (std::size_t i = 0; i < positives.size(); ++i) {
    const auto row = negatives.view().row(i);
    queries.add(positives[i], {row.begin(), row.end()});
    EXPECT_EQ(average_rank(positives[i], row), ranks[i]) << i;
  }

  const auto scores = ranking_scores(queries.view(), {});

  ASSERT_TRUE(scores);
  EXPECT_NEAR(scores->reciprocal_rank, golden_truth("metrics/ogb/mrr")[0], 1e-12);
  EXPECT_TRUE(scores->hits.empty());
  const Offsets ks = {5, 20, 50};
  for (std::size_t i = 0; i < ks.size(); ++i) {
    const auto share = hits_among_all(positives, negatives.view().flat(), ks[i]);
    ASSERT_TRUE(share);
    EXPECT_NEAR(*share, hits[i], 1e-12) << ks[i];
  }
}

/// Mean of all places that the answer can have among those level with it, after a full sort.
double rank_by_sorting(float answer, Floats candidates) {
  candidates.push_back(answer);
  std::ranges::sort(candidates, std::greater<>{});
  double sum = 0;
  double places = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i] == answer) {
      sum += static_cast<double>(i + 1);
      places += 1;
    }
  }
  return sum / places;
}

TEST(Ranking, EqualsSortingEachQuery) {
  DrawStream draw(stream_key(11, {.domain = Domain::generators}), 0);
  OwnedQueries queries;
  double sum = 0;
  double reciprocal = 0;
  double hits = 0;
  for (int q = 0; q < 50; ++q) {
    Floats others(1 + draw.below(20));
    std::ranges::generate(others, [&] { return static_cast<float>(draw.below(8)); });
    const auto answer = static_cast<float>(draw.below(8));
    queries.add(answer, others);
    const double rank = rank_by_sorting(answer, others);
    sum += rank;
    reciprocal += 1 / rank;
    hits += rank <= 3 ? 1 : 0;
  }

  const auto scores = ranking_scores(queries.view(), Offsets{3});

  ASSERT_TRUE(scores);
  EXPECT_NEAR(scores->mean_rank, sum / 50, 1e-12);
  EXPECT_NEAR(scores->reciprocal_rank, reciprocal / 50, 1e-12);
  EXPECT_NEAR(scores->hits[0], hits / 50, 1e-12);
}

TEST(Ranking, HitsAmongAllEqualSortingTheNegatives) {
  DrawStream draw(stream_key(12, {.domain = Domain::generators}), 0);
  Floats positives(40);
  Floats negatives(60);
  for (Floats* scores : {&positives, &negatives}) {
    std::ranges::generate(*scores, [&] { return static_cast<float>(draw.below(20)); });
  }
  Floats sorted = negatives;
  std::ranges::sort(sorted, std::greater<>{});

  for (std::uint64_t k = 1; k <= negatives.size(); ++k) {
    double above = 0;
    for (const float positive : positives) {
      above += positive > sorted[k - 1] ? 1 : 0;
    }
    EXPECT_EQ(hits_among_all(positives, negatives, k), above / 40) << k;
  }
  EXPECT_EQ(hits_among_all(positives, negatives, 61), std::nullopt);
}

TEST(Ranking, QueriesWithoutCandidatesDoNotCount) {
  OwnedQueries queries;
  queries.add(1, {});
  queries.add(1, {2, 0});
  queries.add(1, {});

  const auto scores = ranking_scores(queries.view(), Offsets{1, 2});

  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->queries, 1U);
  EXPECT_EQ(scores->mean_rank, 2);
  EXPECT_EQ(scores->hits, (std::vector<double>{0, 1}));
}

TEST(Ranking, NothingToRankHasNoScores) {
  OwnedQueries bare;
  EXPECT_FALSE(ranking_scores(bare.view(), Offsets{1}));
  bare.add(1, {});
  EXPECT_FALSE(ranking_scores(bare.view(), Offsets{1}));
  EXPECT_EQ(average_rank(1, {}), std::nullopt);
  EXPECT_EQ(hits_among_all({}, Floats{1}, 1), std::nullopt);
  EXPECT_EQ(hits_among_all(Floats{1}, {}, 1), std::nullopt);
}

TEST(Ranking, NanRanksBelowEverythingAndLevelWithItself) {
  EXPECT_EQ(average_rank(NAN, Floats{-1, 2}), 3);
  EXPECT_EQ(average_rank(NAN, Floats{NAN, NAN}), 2);
  EXPECT_EQ(average_rank(NAN, Floats{-infinity, 0}), 2.5);
  EXPECT_EQ(average_rank(-1, Floats{NAN, infinity}), 2);
  EXPECT_EQ(average_rank(infinity, Floats{infinity}), 1.5);
  EXPECT_EQ(hits_among_all(Floats{NAN, 1}, Floats{NAN, 0}, 1), 0.5);
  EXPECT_EQ(hits_among_all(Floats{NAN, 1}, Floats{NAN, NAN}, 2), 0.5);
}

TEST(AveragePrecision, IsTheSumOverFallingThresholds) {
  // Precision 1/1 at the first positive, 2/3 at the second.
  const auto plain =
      average_precision(std::vector<double>{0.1, 0.4, 0.35, 0.8}, Classes{0, 0, 1, 1});
  // One threshold for all: precision 2/4 at recall 1.
  const auto tied = average_precision(std::vector<double>{1, 1, 1, 1}, Classes{0, 1, 1, 0});

  ASSERT_TRUE(plain && tied);
  EXPECT_NEAR(*plain, (1.0 + 2.0 / 3.0) / 2, 1e-15);
  EXPECT_EQ(*tied, 0.5);
}

TEST(AveragePrecision, EqualsThePrecisionAtEachPositive) {
  DrawStream draw(stream_key(13, {.domain = Domain::generators}), 0);
  std::vector<double> scores;
  Classes labels;
  for (int i = 0; i < 80; ++i) {
    scores.push_back(draw.below(15));
    labels.push_back(static_cast<std::int64_t>(draw.below(3)) - 1);
  }
  double sum = 0;
  double positives = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (labels[i] != 1) {
      continue;
    }
    double right = 0;
    double all = 0;
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const bool reached = labels[j] != -1 && scores[j] >= scores[i];
      all += reached ? 1 : 0;
      right += reached && labels[j] == 1 ? 1 : 0;
    }
    sum += right / all;
    positives += 1;
  }

  const auto precision = average_precision(scores, labels);

  ASSERT_TRUE(precision);
  EXPECT_NEAR(*precision, sum / positives, 1e-12);
}

TEST(AveragePrecision, OfOneClassAndOfNanIsDefined) {
  EXPECT_EQ(average_precision({}, {}), std::nullopt);
  EXPECT_EQ(average_precision(std::vector<double>{1, 2}, Classes{0, -1}), std::nullopt);
  EXPECT_EQ(average_precision(std::vector<double>{1, 2}, Classes{1, 1}), 1.0);
  EXPECT_EQ(average_precision(std::vector<double>{NAN, NAN, NAN, NAN}, Classes{0, 1, 0, 0}), 0.25);
  EXPECT_EQ(average_precision(std::vector<double>{NAN, 1}, Classes{0, 1}), 1.0);
}

TEST(RankingDeathTest, StopsOnOffsetsThatDoNotFitAndOnHitsAtZero) {
  const Floats two = {1, 2};
  const auto scores = [&](const Offsets& offsets) {
    return ranking_scores({.answers = two, .offsets = offsets, .candidates = two}, Offsets{1});
  };
  EXPECT_DEATH(scores({}), "offsets 0 of queries 2");
  EXPECT_DEATH(scores({0, 2}), "offsets 2 of queries 2");
  EXPECT_DEATH(scores({0, 1, 3}), "from 0 to 3 of candidates 2");
  EXPECT_DEATH(scores({0, 9, 2}), "ranking: offsets");
  EXPECT_DEATH(ranking_scores({.answers = {}, .offsets = Offsets{0}, .candidates = {}}, Offsets{0}),
               "hits at 0");
  EXPECT_DEATH(hits_among_all(two, two, 0), "hits at 0");
}

}  // namespace
}  // namespace troupe::nn
