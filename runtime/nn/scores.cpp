#include "runtime/nn/scores.hpp"

#include "runtime/nn/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::nn {
namespace {

/// Counts per class for F1.
struct ClassCounts {
  std::uint64_t hits = 0;
  std::uint64_t predicted = 0;
  std::uint64_t true_ones = 0;
  bool seen() const { return predicted + true_ones > 0; }
  double f1() const {
    return seen() ? 2.0 * static_cast<double>(hits) / static_cast<double>(predicted + true_ones)
                  : 0.0;
  }
};

std::size_t class_index(std::int64_t value, std::size_t classes) {
  TROUPE_ASSERT(value >= 0 && static_cast<std::size_t>(value) < classes, "class", value, "of",
                classes);
  return static_cast<std::size_t>(value);
}

struct Scored {
  double score = 0;
  bool positive = false;
};

/// Mean of the values that are there.
class MeanOfKnown {
 public:
  void add(std::optional<double> value) {
    sum_ += value.value_or(0);
    known_ += value ? 1 : 0;
  }
  std::optional<double> mean() const {
    return known_ > 0 ? std::optional(sum_ / known_) : std::nullopt;
  }

 private:
  double sum_ = 0;
  double known_ = 0;
};

}  // namespace

std::vector<std::int64_t> predict_classes(ConstMatrix logits) {
  TROUPE_ASSERT(logits.cols >= 1, "no classes");
  std::vector<std::int64_t> classes(logits.rows);
  for (std::size_t r = 0; r < logits.rows; ++r) {
    const auto row = logits.row(r);
    classes[r] = std::ranges::max_element(row) - row.begin();
  }
  return classes;
}

std::optional<double> accuracy(std::span<const std::int64_t> predicted,
                               std::span<const std::int64_t> labels) {
  TROUPE_ASSERT(predicted.size() == labels.size(), "accuracy", predicted.size(), labels.size());
  std::uint64_t labelled = 0;
  std::uint64_t hits = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labelled += labels[i] != -1 ? 1U : 0U;
    hits += labels[i] != -1 && predicted[i] == labels[i] ? 1U : 0U;
  }
  if (labelled == 0) {
    return std::nullopt;
  }
  return static_cast<double>(hits) / static_cast<double>(labelled);
}

std::optional<F1Scores> f1_scores(std::span<const std::int64_t> predicted,
                                  std::span<const std::int64_t> labels, std::size_t classes) {
  const auto share = accuracy(predicted, labels);
  if (!share) {
    return std::nullopt;
  }
  std::vector<ClassCounts> counts(classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == -1) {
      continue;
    }
    ++counts[class_index(labels[i], classes)].true_ones;
    ++counts[class_index(predicted[i], classes)].predicted;
    counts[class_index(labels[i], classes)].hits += predicted[i] == labels[i] ? 1U : 0U;
  }
  F1Scores scores;
  double sum = 0;
  std::size_t present = 0;
  for (const ClassCounts& c : counts) {
    scores.per_class.push_back(c.f1());
    sum += c.f1();
    present += c.seen() ? 1U : 0U;
  }
  scores.micro = *share;  // one prediction per row: precision = recall = accuracy
  scores.macro_all = sum / static_cast<double>(classes);
  scores.macro_present = sum / static_cast<double>(present);
  return scores;
}

std::vector<std::int64_t> known_labels(std::span<const float> targets) {
  std::vector<std::int64_t> labels;
  labels.reserve(targets.size());
  for (const float target : targets) {
    labels.push_back(std::isnan(target) ? -1 : target > 0.5F ? 1 : 0);
  }
  return labels;
}

std::optional<MultilabelScores> multilabel_scores(ConstMatrix logits,
                                                  std::span<const std::int64_t> labels) {
  TROUPE_ASSERT(labels.size() == logits.size(), "multi-label scores", labels.size(), logits.rows,
                logits.cols);
  ClassCounts all;
  MultilabelScores scores;
  MeanOfKnown auc;
  MeanOfKnown ap;
  std::uint64_t known = 0;
  std::uint64_t right = 0;
  for (std::size_t c = 0; c < logits.cols; ++c) {
    ClassCounts of_label;
    std::vector<double> column;
    std::vector<std::int64_t> truth;
    for (std::size_t i = c; i < labels.size(); i += logits.cols) {
      const bool positive = logits.data[i] > 0;
      column.push_back(logits.data[i]);
      truth.push_back(labels[i]);
      if (labels[i] == -1) {
        continue;
      }
      ++known;
      right += positive == (labels[i] == 1) ? 1U : 0U;
      of_label.predicted += positive ? 1U : 0U;
      of_label.true_ones += labels[i] == 1 ? 1U : 0U;
      of_label.hits += positive && labels[i] == 1 ? 1U : 0U;
    }
    all.hits += of_label.hits;
    all.predicted += of_label.predicted;
    all.true_ones += of_label.true_ones;
    scores.f1_macro += of_label.f1() / static_cast<double>(logits.cols);
    auc.add(roc_auc(column, truth));
    ap.add(average_precision(column, truth));
  }
  if (known == 0) {
    return std::nullopt;
  }
  scores.accuracy = static_cast<double>(right) / static_cast<double>(known);
  scores.f1_micro = all.f1();
  scores.auc = auc.mean();
  scores.ap = ap.mean();
  return scores;
}

std::optional<double> roc_auc(std::span<const double> scores,
                              std::span<const std::int64_t> labels) {
  TROUPE_ASSERT(scores.size() == labels.size(), "auc", scores.size(), labels.size());
  std::vector<Scored> rows;
  rows.reserve(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (labels[i] != -1) {
      // A diverged model's NaN ranks below everything, so that there is an order.
      const double score =
          std::isnan(scores[i]) ? -std::numeric_limits<double>::infinity() : scores[i];
      rows.push_back({score, labels[i] != 0});
    }
  }
  std::ranges::sort(rows, {}, &Scored::score);
  std::uint64_t negatives_below = 0;
  std::uint64_t positives = 0;
  std::uint64_t half_wins = 0;  // a won pair counts 2, a tied one 1
  for (std::size_t i = 0; i < rows.size();) {
    std::uint64_t tied_positives = 0;
    std::uint64_t tied_negatives = 0;
    const double score = rows[i].score;
    for (; i < rows.size() && rows[i].score == score; ++i) {
      ++(rows[i].positive ? tied_positives : tied_negatives);
    }
    half_wins += tied_positives * (2 * negatives_below + tied_negatives);
    positives += tied_positives;
    negatives_below += tied_negatives;
  }
  if (positives == 0 || negatives_below == 0) {
    return std::nullopt;
  }
  return static_cast<double>(half_wins) /
         (2.0 * static_cast<double>(positives) * static_cast<double>(negatives_below));
}

std::vector<double> class_one_margins(ConstMatrix logits) {
  TROUPE_ASSERT(logits.cols == 2, "two classes wanted", logits.cols);
  std::vector<double> margins(logits.rows);
  for (std::size_t r = 0; r < logits.rows; ++r) {
    const auto row = logits.row(r);
    margins[r] = static_cast<double>(row[1]) - static_cast<double>(row[0]);
  }
  return margins;
}

}  // namespace troupe::nn
