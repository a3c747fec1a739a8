#pragma once
/// \file scoring.hpp
/// Scores of one role, from what a task makes of each of its seeds.
#include "runtime/base/matrix.hpp"
#include "runtime/run/run_record.hpp"
#include "runtime/sample/knowledge/replaced_end.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Scores of classes, or of multi-label targets.
/// \param labels  per seed, or per seed and output (multi-label); -1: unknown
Scores score_seeds(ConstMatrix logits, std::span<const std::int64_t> labels);

/// Scores of numbers: of all that are known.
/// \param numbers  [outputs.rows, outputs.cols], NaN where unknown
Scores score_numbers(ConstMatrix outputs, std::span<const float> numbers);

/// Pairs of a role in files: each true link is followed by its candidates, and false links come after
/// all of them.
struct GivenPairs {
  std::uint64_t links = 0;
  std::uint64_t candidates = 0;  ///< of each link
  std::uint64_t negatives = 0;

  std::uint64_t rows() const { return links * (1 + candidates) + negatives; }
};

/// What the outputs of a role whose seeds are links are.
struct LinkScoring {
  /// `ranked`: scores of links against others; `classes`, `numbers`: what labels are compared with;
  /// `counts`: entities above and level with a triple's tail, and with its head.
  enum class Kind : std::uint8_t { ranked, classes, numbers, counts };
  Kind kind = Kind::ranked;
  bool all =
      false;  ///< of `ranked`: outputs end with counts of all nodes, which links are ranked among
  RankedEnds ends = RankedEnds::both;  ///< of `counts` and `all`
  std::uint64_t rows = 0;              ///< positions that there are outputs of
  /// Of `ranked`; none: outputs are of drawn links too. Of groups each has its own.
  std::optional<GivenPairs> given = {};
  /// Of `ranked`: links of one edge type, with its name, where there are several.
  struct Group {
    std::string name;
    std::uint64_t first = 0;  ///< row
    std::uint64_t count = 0;
    std::optional<GivenPairs> given = {};
  };
  std::vector<Group> groups = {};
  std::span<const float> labels = {};           ///< [rows] of the others
  std::shared_ptr<const void> owner = nullptr;  ///< keeps the labels
};

/// \param outputs  `ranked`: a link's score, then those of its drawn ones, or one of each given pair
/// \param seen     [rows] -1: the row was left out of a partial evaluation
/// \returns of groups the means over those that have the score, then theirs as "NAME.SCORE"
Scores score_links(const LinkScoring& how, ConstMatrix outputs, std::span<const std::int64_t> seen);

}  // namespace troupe
