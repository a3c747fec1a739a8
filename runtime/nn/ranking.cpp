#include "runtime/nn/ranking.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace troupe::nn {
namespace {

struct RankedRow {
  double score = 0;
  bool positive = false;
};

template <class T>
T orderable(T score) {
  return std::isnan(score) ? -std::numeric_limits<T>::infinity() : score;
}

void check_queries(const RankingQueries& queries) {
  const auto& offsets = queries.offsets;
  TROUPE_ASSERT(offsets.size() == queries.answers.size() + 1, "ranking: offsets", offsets.size(),
                "of queries", queries.answers.size());
  TROUPE_ASSERT(offsets.front() == 0 && offsets.back() == queries.candidates.size() &&
                    std::ranges::is_sorted(offsets),
                "ranking: offsets from", offsets.front(), "to", offsets.back(), "of candidates",
                queries.candidates.size());
}

}  // namespace

std::optional<double> average_precision(std::span<const double> scores,
                                        std::span<const std::int64_t> labels) {
  TROUPE_ASSERT(scores.size() == labels.size(), "average precision", scores.size(), labels.size());
  std::vector<RankedRow> rows;
  rows.reserve(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (labels[i] != -1) {
      rows.push_back({orderable(scores[i]), labels[i] != 0});
    }
  }
  std::ranges::sort(rows, std::greater<>{}, &RankedRow::score);
  std::uint64_t positives = 0;
  double sum = 0;  // of the precision at each positive
  for (std::size_t i = 0; i < rows.size();) {
    std::uint64_t level = 0;
    const double score = rows[i].score;
    for (; i < rows.size() && rows[i].score == score; ++i) {
      level += rows[i].positive ? 1U : 0U;
    }
    positives += level;
    const double precision = static_cast<double>(positives) / static_cast<double>(i);
    sum += static_cast<double>(level) * precision;
  }
  if (positives == 0) {
    return std::nullopt;
  }
  return sum / static_cast<double>(positives);
}

std::optional<double> average_rank(float answer, std::span<const float> candidates) {
  if (candidates.empty()) {
    return std::nullopt;
  }
  const float own = orderable(answer);
  std::uint64_t above = 0;
  std::uint64_t level = 0;
  for (const float candidate : candidates) {
    const float other = orderable(candidate);
    above += other > own ? 1U : 0U;
    level += other == own ? 1U : 0U;
  }
  return 1.0 + static_cast<double>(above) + static_cast<double>(level) / 2;
}

std::optional<RankingScores> ranking_scores(const RankingQueries& queries,
                                            std::span<const std::uint64_t> ks) {
  check_queries(queries);
  TROUPE_ASSERT(std::ranges::count(ks, 0U) == 0, "hits at 0");
  RankingScores scores;
  std::vector<std::uint64_t> hits(ks.size());
  for (std::size_t q = 0; q < queries.answers.size(); ++q) {
    const auto begin = queries.offsets[q];
    const auto rank = average_rank(
        queries.answers[q], queries.candidates.subspan(begin, queries.offsets[q + 1] - begin));
    if (!rank) {
      continue;
    }
    ++scores.queries;
    scores.mean_rank += *rank;
    scores.reciprocal_rank += 1 / *rank;
    for (std::size_t i = 0; i < ks.size(); ++i) {
      hits[i] += *rank <= static_cast<double>(ks[i]) ? 1U : 0U;
    }
  }
  if (scores.queries == 0) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(scores.queries);
  scores.mean_rank /= count;
  scores.reciprocal_rank /= count;
  for (const std::uint64_t number : hits) {
    scores.hits.push_back(static_cast<double>(number) / count);
  }
  return scores;
}

std::optional<double> hits_among_all(std::span<const float> positives,
                                     std::span<const float> negatives, std::uint64_t k) {
  TROUPE_ASSERT(k >= 1, "hits at", k);
  if (positives.empty() || negatives.size() < k) {
    return std::nullopt;
  }
  std::vector<float> best;
  best.reserve(negatives.size());
  for (const float negative : negatives) {
    best.push_back(orderable(negative));
  }
  const auto kth = best.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::ranges::nth_element(best, kth, std::greater<>{});
  const auto hits = std::ranges::count_if(
      positives, [bound = *kth](float positive) { return orderable(positive) > bound; });
  return static_cast<double>(hits) / static_cast<double>(positives.size());
}

}  // namespace troupe::nn
