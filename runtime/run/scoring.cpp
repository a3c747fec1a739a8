#include "runtime/run/scoring.hpp"

#include "runtime/nn/knowledge/entity_ranker.hpp"
#include "runtime/nn/ranking.hpp"
#include "runtime/nn/scores.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::array<std::uint64_t, 4> hit_ranks{1, 3, 10, 50};

/// Scores of true links, of the candidates that each is ranked among, and of links that all are told
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

/// Tails of all triples, then heads.
Scores score_counts(ConstMatrix outputs, std::span<const std::int64_t> seen) {
  std::vector<nn::AboveAndLevel> counts;
  Scores scores;
  for (const std::size_t first : {std::size_t{0}, std::size_t{2}}) {
    for (std::size_t i = 0; i < outputs.rows; ++i) {
      if (seen[i] >= 0) {
        const auto row = outputs.row(i).subspan(first, 2);
        counts.push_back({static_cast<std::uint64_t>(row[0]), static_cast<std::uint64_t>(row[1])});
      }
    }
  }
  scores.labelled = counts.size() / 2;
  add_ranks(scores, nn::scores_of_counts(counts, hit_ranks));
  return scores;
}

Scores score_ranked(const RankedLinks& ranked) {
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
  const auto ranks = nn::ranking_scores(
      {.answers = ranked.links, .offsets = ranked.offsets, .candidates = ranked.candidates},
      hit_ranks);
  add_ranks(scores, ranks);
  return scores;
}

Scores score_numbers(ConstMatrix outputs, std::span<const float> labels,
                     std::span<const std::int64_t> seen) {
  Scores scores;
  double squares = 0;
  double lengths = 0;
  for (std::size_t i = 0; i < outputs.rows; ++i) {
    if (seen[i] >= 0) {
      const double difference = static_cast<double>(outputs.row(i)[0]) - labels[i];
      squares += difference * difference;
      lengths += std::abs(difference);
      ++scores.labelled;
    }
  }
  if (scores.labelled > 0) {
    const auto count = static_cast<double>(scores.labelled);
    add(scores, "rmse", std::sqrt(squares / count));
    add(scores, "mae", lengths / count);
  }
  return scores;
}

}  // namespace

Scores score_seeds(ConstMatrix logits, std::span<const std::int64_t> labels) {
  Scores scores;
  scores.labelled = static_cast<std::uint64_t>(
      std::ranges::count_if(labels, [](std::int64_t label) { return label >= 0; }));
  if (logits.cols > 1 && labels.size() == logits.rows * logits.cols) {
    if (const auto found = nn::multilabel_scores(logits, labels)) {
      scores.accuracy = found->accuracy;
      scores.f1 = found->f1_macro;
      scores.auc = found->auc;
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
      positive = nn::class_one_probability(logits);
    }
  }
  scores.accuracy = nn::accuracy(predicted, labels);
  if (const auto f1 = nn::f1_scores(predicted, labels, std::max<std::size_t>(2, logits.cols))) {
    scores.f1 = f1->macro_present;
  }
  if (!positive.empty()) {
    scores.auc = nn::roc_auc(positive, labels);
  }
  return scores;
}

Scores score_links(const LinkScoring& how, ConstMatrix outputs,
                   std::span<const std::int64_t> seen) {
  if (how.kind == LinkScoring::Kind::ranked) {
    return score_ranked(how.given ? given_links(*how.given, outputs) : drawn_links(outputs, seen));
  }
  if (how.kind == LinkScoring::Kind::counts) {
    return score_counts(outputs, seen);
  }
  if (how.kind == LinkScoring::Kind::numbers) {
    return score_numbers(outputs, how.labels, seen);
  }
  std::vector<std::int64_t> labels(seen.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    labels[i] = seen[i] < 0 ? -1 : static_cast<std::int64_t>(how.labels[i]);
  }
  return score_seeds(outputs, labels);
}

}  // namespace troupe
