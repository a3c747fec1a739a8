#include "runtime/run/scoring.hpp"

#include "runtime/nn/knowledge/entity_ranker.hpp"
#include "runtime/nn/ranking.hpp"
#include "runtime/nn/scores.hpp"
#include "runtime/run/entity_queries.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace troupe {
namespace {

constexpr std::array<std::uint64_t, 4> hit_ranks{1, 3, 10, 50};

/// Scores of true links, of the candidates that each is ranked among, and of links that all are kept
/// from.
struct RankedLinks {
  std::vector<float> links;
  std::vector<float> candidates;
  std::vector<std::uint64_t> offsets{0};
  std::vector<float> negatives;
};

RankedLinks drawn_links(ConstMatrix outputs, std::span<const std::int64_t> seen) {
  RankedLinks ranked;
  for (std::size_t i = 0; i < outputs.rows; ++i) {
    if (seen[i] < 0) {
      continue;
    }
    const auto row = outputs.row(i);
    ranked.links.push_back(row[0]);
    ranked.candidates.insert(ranked.candidates.end(), row.begin() + 1, row.end());
    ranked.offsets.push_back(ranked.candidates.size());
  }
  ranked.negatives = ranked.candidates;
  return ranked;
}

RankedLinks given_links(const GivenPairs& given, ConstMatrix outputs) {
  RankedLinks ranked;
  const auto scores = outputs.flat();
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < given.links; ++i) {
    ranked.links.push_back(scores[at++]);
    const auto candidates = scores.subspan(at, given.candidates);
    ranked.candidates.insert(ranked.candidates.end(), candidates.begin(), candidates.end());
    ranked.offsets.push_back(ranked.candidates.size());
    at += given.candidates;
  }
  const auto negatives = scores.subspan(at);
  ranked.negatives.assign(negatives.begin(), negatives.end());
  if (given.negatives == 0) {
    ranked.negatives = ranked.candidates;
  }
  return ranked;
}

void add(Scores& scores, const std::string& name, const std::optional<double>& value) {
  if (value) {
    scores.more.emplace_back(name, *value);
  }
}

void add_ranks(Scores& scores, const std::optional<nn::RankingScores>& ranks) {
  if (!ranks) {
    return;
  }
  add(scores, "mrr", ranks->reciprocal_rank);
  add(scores, "mr", ranks->mean_rank);
  for (std::size_t k = 0; k < hit_ranks.size(); ++k) {
    add(scores, fmt::format("hits@{}", hit_ranks[k]), ranks->hits[k]);
  }
}

/// Tails of all triples, then heads, where these are ranked. \param from  column where counts begin
Scores score_counts(RankedEnds ends, ConstMatrix outputs, std::span<const std::int64_t> seen,
                    std::size_t from = 0) {
  std::vector<nn::AboveAndLevel> counts;
  Scores scores;
  for (const auto end : {ReplacedEnd::tail, ReplacedEnd::head}) {
    const std::size_t first = end == ReplacedEnd::tail ? 0 : 2;
    for (std::size_t i = 0; i < outputs.rows && is_ranked(ends, end); ++i) {
      if (seen[i] >= 0) {
        const auto row = outputs.row(i).subspan(from + first, 2);
        counts.push_back({static_cast<std::uint64_t>(row[0]), static_cast<std::uint64_t>(row[1])});
      }
    }
  }
  scores.labelled = ends == RankedEnds::both ? counts.size() / 2 : counts.size();
  add_ranks(scores, nn::scores_of_counts(counts, hit_ranks));
  return scores;
}

/// \param among_others  links are ranked among the candidates
Scores score_ranked(const RankedLinks& ranked, bool among_others) {
  Scores scores;
  scores.labelled = ranked.links.size();
  if (ranked.links.empty() || ranked.negatives.empty()) {
    return scores;
  }
  std::vector<double> all(ranked.links.begin(), ranked.links.end());
  all.insert(all.end(), ranked.negatives.begin(), ranked.negatives.end());
  std::vector<std::int64_t> labels(all.size());
  std::fill_n(labels.begin(), ranked.links.size(), 1);
  scores.auc = nn::roc_auc(all, labels);
  add(scores, "ap", nn::average_precision(all, labels));
  if (!among_others) {
    return scores;
  }
  const auto ranks = nn::ranking_scores(
      {.answers = ranked.links, .offsets = ranked.offsets, .candidates = ranked.candidates},
      hit_ranks);
  add_ranks(scores, ranks);
  return scores;
}

/// The last columns count all nodes.
Scores score_among_all(RankedEnds ends, ConstMatrix outputs, std::span<const std::int64_t> seen) {
  const auto kept = outputs.cols - rank_cols;
  Matrix scored(outputs.rows, kept);
  for (std::size_t i = 0; i < outputs.rows; ++i) {
    std::ranges::copy(outputs.row(i).first(kept), scored.view().row(i).begin());
  }
  auto scores = score_ranked(drawn_links(std::as_const(scored).view(), seen), false);
  const auto ranks = score_counts(ends, outputs, seen, kept);
  scores.more.insert(scores.more.end(), ranks.more.begin(), ranks.more.end());
  return scores;
}

/// Means over edge types, in their order, then the scores of each.
Scores score_groups(const LinkScoring& how, ConstMatrix outputs,
                    std::span<const std::int64_t> seen) {
  Scores all;
  std::vector<std::pair<std::string, double>> each;
  std::vector<std::pair<std::string, std::pair<double, double>>> sums;  // by name: sum and number
  const auto take = [&](const std::string& group, const std::string& name, double value) {
    each.emplace_back(fmt::format("{}.{}", group, name), value);
    auto found = std::ranges::find(sums, name, [](const auto& sum) { return sum.first; });
    if (found == sums.end()) {
      found = sums.insert(sums.end(), {name, {0, 0}});
    }
    found->second.first += value;
    found->second.second += 1;
  };
  for (const auto& group : how.groups) {
    const auto rows = outputs.slice(group.first, group.count);
    const auto of_rows = seen.subspan(group.first, group.count);
    const auto scores = how.all ? score_among_all(how.ends, rows, of_rows)
                                : score_ranked(group.given ? given_links(*group.given, rows)
                                                           : drawn_links(rows, of_rows),
                                               true);
    all.labelled += scores.labelled;
    if (scores.auc) {
      take(group.name, "auc", *scores.auc);
    }
    for (const auto& [name, value] : scores.more) {
      take(group.name, name, value);
    }
  }
  for (const auto& [name, sum] : sums) {
    const auto mean = sum.first / sum.second;
    if (name == "auc") {
      all.auc = mean;
    } else {
      all.more.emplace_back(name, mean);
    }
  }
  all.more.insert(all.more.end(), each.begin(), each.end());
  return all;
}

/// Of one column: 1 - squares / squares of the distance from the mean; nothing where all are equal.
std::optional<double> determination(ConstMatrix outputs, std::span<const float> numbers,
                                    std::size_t column) {
  double sum = 0;
  double count = 0;
  for (std::size_t i = column; i < numbers.size(); i += outputs.cols) {
    if (!std::isnan(numbers[i])) {
      sum += numbers[i];
      count += 1;
    }
  }
  double squares = 0;
  double from_mean = 0;
  for (std::size_t i = column; i < numbers.size(); i += outputs.cols) {
    if (!std::isnan(numbers[i])) {
      const double difference = static_cast<double>(outputs.data[i]) - numbers[i];
      squares += difference * difference;
      from_mean += (numbers[i] - sum / count) * (numbers[i] - sum / count);
    }
  }
  return from_mean > 0 ? std::optional(1 - squares / from_mean) : std::nullopt;
}

}  // namespace

Scores score_numbers(ConstMatrix outputs, std::span<const float> numbers) {
  Scores scores;
  double squares = 0;
  double lengths = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isnan(numbers[i])) {
      const double difference = static_cast<double>(outputs.data[i]) - numbers[i];
      squares += difference * difference;
      lengths += std::abs(difference);
      ++scores.labelled;
    }
  }
  if (scores.labelled == 0) {
    return scores;
  }
  const auto count = static_cast<double>(scores.labelled);
  add(scores, "rmse", std::sqrt(squares / count));
  add(scores, "mae", lengths / count);
  double sum = 0;
  double columns = 0;
  for (std::size_t column = 0; column < outputs.cols; ++column) {
    if (const auto value = determination(outputs, numbers, column)) {
      sum += *value;
      columns += 1;
    }
  }
  add(scores, "r2", columns > 0 ? std::optional(sum / columns) : std::nullopt);
  return scores;
}

Scores score_seeds(ConstMatrix logits, std::span<const std::int64_t> labels) {
  Scores scores;
  scores.labelled = static_cast<std::uint64_t>(
      std::ranges::count_if(labels, [](std::int64_t label) { return label >= 0; }));
  if (logits.cols > 1 && labels.size() == logits.rows * logits.cols) {
    if (const auto found = nn::multilabel_scores(logits, labels)) {
      scores.accuracy = found->accuracy;
      scores.f1 = found->f1_macro;
      scores.auc = found->auc;
      add(scores, "ap", found->ap);
    }
    return scores;
  }
  std::vector<std::int64_t> predicted;
  std::vector<double> positive;
  if (logits.cols == 1) {  // binary logits
    for (std::size_t i = 0; i < logits.rows; ++i) {
      predicted.push_back(logits.data[i] > 0 ? 1 : 0);
      positive.push_back(logits.data[i]);
    }
  } else {
    predicted = nn::predict_classes(logits);
    if (logits.cols == 2) {
      positive = nn::class_one_margins(logits);
    }
  }
  scores.accuracy = nn::accuracy(predicted, labels);
  if (const auto f1 = nn::f1_scores(predicted, labels, std::max<std::size_t>(2, logits.cols))) {
    scores.f1 = f1->macro_present;
  }
  if (!positive.empty()) {
    scores.auc = nn::roc_auc(positive, labels);
    add(scores, "ap", nn::average_precision(positive, labels));
  }
  return scores;
}

Scores score_links(const LinkScoring& how, ConstMatrix outputs,
                   std::span<const std::int64_t> seen) {
  if (how.kind == LinkScoring::Kind::ranked && !how.groups.empty()) {
    return score_groups(how, outputs, seen);
  }
  if (how.kind == LinkScoring::Kind::ranked) {
    if (how.all) {
      return score_among_all(how.ends, outputs, seen);
    }
    return score_ranked(how.given ? given_links(*how.given, outputs) : drawn_links(outputs, seen),
                        true);
  }
  if (how.kind == LinkScoring::Kind::counts) {
    return score_counts(how.ends, outputs, seen);
  }
  if (how.kind == LinkScoring::Kind::numbers) {
    std::vector<float> numbers(how.labels.begin(), how.labels.end());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      numbers[i] = seen[i] < 0 ? std::numeric_limits<float>::quiet_NaN() : numbers[i];
    }
    return score_numbers(outputs, numbers);
  }
  std::vector<std::int64_t> labels(seen.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    labels[i] = seen[i] < 0 ? -1 : static_cast<std::int64_t>(how.labels[i]);
  }
  return score_seeds(outputs, labels);
}

}  // namespace troupe
