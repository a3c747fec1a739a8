#pragma once
/// \file scores.hpp
/// Scores of predictions: accuracy, F1, ROC AUC; float64.
#include "runtime/base/matrix.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::nn {

/// Class of each row: the highest logit, the lowest class wins a tie.
std::vector<std::int64_t> predict_classes(ConstMatrix logits);

/// Share of labelled rows (label != -1) whose prediction is right. Nothing labelled: none.
std::optional<double> accuracy(std::span<const std::int64_t> predicted,
                               std::span<const std::int64_t> labels);

struct F1Scores {
  double micro = 0;
  double macro_present =
      0;                 ///< over the classes seen in truth or prediction ("f1" in the job file)
  double macro_all = 0;  ///< over all classes; one without truth and prediction counts 0
  std::vector<double> per_class;
};
std::optional<F1Scores> f1_scores(std::span<const std::int64_t> predicted,
                                  std::span<const std::int64_t> labels, std::size_t classes);

/// Labels of multi-label targets, entry by entry: 1, 0, or -1 where the target is unknown (NaN).
std::vector<std::int64_t> known_labels(std::span<const float> targets);

/// Scores of multi-label predictions; an entry is predicted positive where its logit is above 0.
struct MultilabelScores {
  double accuracy = 0;  ///< share of known entries whose prediction is right
  double f1_micro = 0;  ///< over all known entries; 0 without truth and prediction
  double f1_macro = 0;  ///< mean over the labels; one without truth and prediction counts 0
  /// Mean over the labels whose known entries are of both kinds; none if there is no such label.
  std::optional<double> auc;
  /// Average precision (ranking.hpp): mean over the labels with a positive entry; none if there is no such label.
  std::optional<double> ap;
};
/// \param labels [logits.rows * logits.cols] as known_labels gives them; nothing known: none
std::optional<MultilabelScores> multilabel_scores(ConstMatrix logits,
                                                  std::span<const std::int64_t> labels);

/// P(pos > neg) + P(pos = neg)/2 over all pairs.
/// \param labels 1 positive, 0 negative, -1 ignored Nothing of one class: none.
std::optional<double> roc_auc(std::span<const double> scores, std::span<const std::int64_t> labels);

/// Logit of class 1 minus that of class 0 of each row, in float64: ranks rows as their probabilities of
/// class 1 do, but those that round to 0 or 1 are not tied.
/// \requires logits.cols == 2
std::vector<double> class_one_margins(ConstMatrix logits);

}  // namespace troupe::nn
