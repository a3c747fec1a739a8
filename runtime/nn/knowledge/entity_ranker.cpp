#include "runtime/nn/knowledge/entity_ranker.hpp"

#include "runtime/base/hot.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/nn/ops/row_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace troupe::nn {
namespace {

/// Rows whose keys are in memory at a time.
constexpr std::size_t rows_at_once = 192;  // of products: a multiple of 64 and of 48

using Counters = std::array<std::uint32_t, queries_at_once>;

/// NaN below everything.
[[gnu::always_inline]] inline float ranked_key(float key) {
  return key == key ? key : -std::numeric_limits<float>::infinity();
}

/// \param keys     [rows, queries_at_once]
/// \param answers  [queries_at_once]
TROUPE_HOT void count_rows(const float* __restrict keys, std::size_t rows,
                           const float* __restrict answers, std::uint32_t* __restrict above,
                           std::uint32_t* __restrict level) {
  for (std::size_t r = 0; r < rows; ++r) {
    const float* __restrict row = keys + r * queries_at_once;
    for (std::size_t q = 0; q < queries_at_once; ++q) {
      const float key = ranked_key(row[q]);
      above[q] += key > answers[q] ? 1U : 0U;
      level[q] += key == answers[q] ? 1U : 0U;
    }
  }
}

}  // namespace

struct EntityRanker::Scratch {
  Matrix keys = Matrix(rows_at_once, queries_at_once);
  Matrix units;    ///< where entities are divided by their length
  Matrix between;  ///< of a perceptron: [rows, hidden]
  std::vector<float> lengths = std::vector<float>(rows_at_once);
};

EntityRanker::EntityRanker(const TripleScore& score, ConstMatrix queries)
    : score_(score), comparison_(score.comparison()), count_(queries.rows) {
  TROUPE_ASSERT(queries.rows <= queries_at_once, "queries at once", queries.rows, queries_at_once);
  queries_ = Matrix::zeros(queries_at_once, queries.cols);
  std::ranges::copy(queries.flat(), queries_.data());
  if (comparison_ == Comparison::distance_1 || comparison_ == Comparison::moduli) {
    tiles_.assign(std::as_const(queries_).view());
  }
}

EntityRanker::EntityRanker(const HalfPerceptron& half, ConstMatrix queries)
    : comparison_(Comparison::product),
      count_(queries.rows),
      weight_(half.weight.rows, half.weight.cols),
      factors_(half.out.begin(), half.out.end()) {
  TROUPE_ASSERT(queries.rows <= queries_at_once && !factors_.empty() &&
                    queries.cols == factors_.size() && half.weight.rows == factors_.size(),
                "queries of a perceptron", queries.rows, queries.cols, factors_.size(),
                half.weight.rows);
  std::ranges::copy(half.weight.flat(), weight_.data());
  queries_ = Matrix::zeros(queries_at_once, queries.cols);
  std::ranges::copy(queries.flat(), queries_.data());
  tiles_.assign(std::as_const(queries_).view());
}

EntityRanker::Scratch EntityRanker::scratch() const {
  Scratch scratch;
  if (!factors_.empty()) {
    scratch.between = Matrix(rows_at_once, factors_.size());
  }
  return scratch;
}

void EntityRanker::hinge_keys(ConstMatrix entities, Scratch& scratch) const {
  const auto between = scratch.between.view().slice(0, entities.rows);
  linear_rows(entities, weight_.view(), between, Into::overwrite);
  std::array<float, RowTiles::width> keys{};
  for (std::size_t r = 0; r < entities.rows; ++r) {
    for (std::size_t t = 0; t < tiles_.count(); ++t) {
      tile_hinges(between.row(r), factors_, tiles_.tile(t), keys);
      std::ranges::copy(keys, scratch.keys.view().row(r).begin() +
                                  static_cast<std::ptrdiff_t>(t * RowTiles::width));
    }
  }
}

void EntityRanker::keys_of(ConstMatrix entities, Scratch& scratch) const {
  const auto cols = factors_.empty() ? queries_.cols() : weight_.cols();
  TROUPE_ASSERT(entities.cols == cols, "columns of entities", entities.cols, cols);
  if (!factors_.empty()) {
    return hinge_keys(entities, scratch);
  }
  if (score_.unit) {
    if (scratch.units.cols() != entities.cols) {
      scratch.units = Matrix(rows_at_once, entities.cols);
    }
    const auto units = scratch.units.view().slice(0, entities.rows);
    unit_rows(score_.norm, entities, units, std::span(scratch.lengths).first(entities.rows));
    entities = units;
  }
  const auto keys = scratch.keys.view().slice(0, entities.rows);
  if (comparison_ == Comparison::distance_1 || comparison_ == Comparison::moduli) {
    std::array<float, RowTiles::width> distances{};
    for (std::size_t r = 0; r < entities.rows; ++r) {
      for (std::size_t t = 0; t < tiles_.count(); ++t) {
        tile_distances(comparison_, entities.row(r), tiles_.tile(t), distances);
        std::ranges::transform(
            distances, keys.row(r).begin() + static_cast<std::ptrdiff_t>(t * RowTiles::width),
            [](float distance) { return -distance; });
      }
    }
    return;
  }
  linear_rows(entities, queries_.view(), keys, Into::overwrite);
  for (std::size_t r = 0; comparison_ == Comparison::distance_2 && r < entities.rows; ++r) {
    const float* row = entities.row(r).data();
    const float half = dot_row(row, row, entities.cols) / 2;
    for (float& key : keys.row(r)) {
      key -= half;
    }
  }
}

void EntityRanker::answer_keys(ConstMatrix answers, std::span<float> keys) const {
  TROUPE_ASSERT(answers.rows == count_ && keys.size() == count_, "answers of queries", answers.rows,
                keys.size(), count_);
  Scratch scratch = this->scratch();
  for (std::size_t first = 0; first < count_; first += rows_at_once) {
    const std::size_t rows = std::min(rows_at_once, count_ - first);
    keys_of(answers.slice(first, rows), scratch);
    for (std::size_t i = 0; i < rows; ++i) {
      keys[first + i] = scratch.keys.view().row(i)[first + i];
    }
  }
}

void EntityRanker::count(ConstMatrix entities, std::span<const float> keys,
                         const LeftOutRows& left_out, std::span<AboveAndLevel> counts) const {
  TROUPE_ASSERT(
      keys.size() == count_ && counts.size() == count_ && left_out.offsets.size() == count_ + 1,
      "counts of queries", keys.size(), counts.size(), left_out.offsets.size(), count_);
  Scratch scratch = this->scratch();
  std::array<float, queries_at_once> answers{};
  std::ranges::transform(keys, answers.begin(), ranked_key);
  std::vector<std::uint64_t> next(left_out.offsets.begin(), left_out.offsets.end());
  for (std::size_t first = 0; first < entities.rows; first += rows_at_once) {
    const std::size_t rows = std::min(rows_at_once, entities.rows - first);
    keys_of(entities.slice(first, rows), scratch);
    Counters above{};
    Counters level{};
    count_rows(scratch.keys.data(), rows, answers.data(), above.data(), level.data());
    for (std::size_t q = 0; q < count_; ++q) {
      for (; next[q] < left_out.offsets[q + 1] && left_out.rows[next[q]] < first + rows;
           ++next[q]) {
        const auto row = scratch.keys.view().row(left_out.rows[next[q]] - first);
        const float key = ranked_key(row[q]);
        above[q] -= key > answers[q] ? 1U : 0U;
        level[q] -= key == answers[q] ? 1U : 0U;
      }
      counts[q] += {above[q], level[q]};
    }
  }
}

std::optional<RankingScores> scores_of_counts(std::span<const AboveAndLevel> counts,
                                              std::span<const std::uint64_t> ks) {
  if (counts.empty()) {
    return std::nullopt;
  }
  RankingScores scores;
  scores.hits.assign(ks.size(), 0.0);
  for (const auto& count : counts) {
    const double rank = count.rank();
    scores.mean_rank += rank;
    scores.reciprocal_rank += 1 / rank;
    for (std::size_t i = 0; i < ks.size(); ++i) {
      scores.hits[i] += rank <= static_cast<double>(ks[i]) ? 1 : 0;
    }
  }
  scores.queries = counts.size();
  const auto number = static_cast<double>(counts.size());
  scores.mean_rank /= number;
  scores.reciprocal_rank /= number;
  for (double& hits : scores.hits) {
    hits /= number;
  }
  return scores;
}

}  // namespace troupe::nn
