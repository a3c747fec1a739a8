#pragma once
/// \file ranking.hpp
/// Scores of rankings, as link prediction is judged by: average precision, ranks of true answers
/// among given candidates and hits; float64. ROC AUC, which ranks too, is roc_auc in scores.hpp.
///
/// A NaN ranks below everything and level with other NaN and -inf, as in roc_auc, so that scores of
/// a diverged model have an order.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::nn {

/// Average precision: sum over n of (R_n - R_{n-1}) P_n, with P_n and R_n the precision and recall
/// of all rows that score at least the n-th highest distinct score. Equal scores count together,
/// without interpolation (Manning, Raghavan and Schuetze, "Introduction to information retrieval",
/// 2008, section 8.4; scikit-learn's average_precision_score).
/// \param labels 1 positive, 0 negative, -1 ignored. No positive: none
std::optional<double> average_precision(std::span<const double> scores,
                                        std::span<const std::int64_t> labels);

/// Rank of a true answer among candidates: 1 + candidates above it + candidates level with it / 2,
/// the mean of the optimistic and the pessimistic rank (Ruffinelli, Broscheit and Gemulla, "You can
/// teach an old dog new tricks", 2020; Open Graph Benchmark). No candidates: none.
/// \param candidates  scores of the other answers only; a filtered rank leaves the known ones out
std::optional<double> average_rank(float answer, std::span<const float> candidates);

/// Scores of true answers and of their candidates, query by query.
struct RankingQueries {
  std::span<const float> answers;          ///< [queries]
  std::span<const std::uint64_t> offsets;  ///< [queries + 1], rising from 0 to candidates.size()
  std::span<const float> candidates;       ///< of query q: offsets[q] up to offsets[q + 1]
};

/// Means over the queries that have candidates (Bordes et al., "Translating embeddings for modeling
/// multi-relational data", 2013).
struct RankingScores {
  std::uint64_t queries = 0;   ///< those with candidates
  double mean_rank = 0;        ///< "MR"
  double reciprocal_rank = 0;  ///< "MRR": mean of 1 / rank
  std::vector<double> hits;    ///< share of ranks <= k, for each k that was asked for
};
/// No query with candidates: none.
/// \requires offsets as described, each k at least 1 (asserted)
std::optional<RankingScores> ranking_scores(const RankingQueries& queries,
                                            std::span<const std::uint64_t> ks);

/// Share of positives strictly above the k-th best of all negatives, "Hits@K" of the link data sets
/// of the Open Graph Benchmark (Hu et al., 2020). No positive, or fewer than k negatives: none
/// (OGB's evaluator counts 1 for the latter).
/// \requires k at least 1 (asserted)
std::optional<double> hits_among_all(std::span<const float> positives,
                                     std::span<const float> negatives, std::uint64_t k);

}  // namespace troupe::nn
