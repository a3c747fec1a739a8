#pragma once
/// \file entity_ranker.hpp
/// Filtered ranks of answers among all entities, counted block by block: a holder of some entities
/// counts how many of its rows score above and level with the answer, so that two numbers per query
/// travel, and counts of all holders add up to the rank.
///
/// The key of a row and a query orders rows as the score does: products themselves, for the length
/// of differences q·e - |e|²/2, for other distances their negative. Entities are rows of products,
/// whose columns are `queries_at_once` queries, the missing ones 0: so a key's bits depend on its
/// row and its query's place alone, whichever other rows are there (decision 0006), and ranks are
/// those of every partitioning. A query's place is its number modulo `queries_at_once` in the order
/// of the job. Of a perceptron of pairs the product with its matrix comes first, then sums of hinges,
/// query by query (decision 0047).
#include "runtime/base/matrix.hpp"
#include "runtime/nn/knowledge/pair_scores.hpp"
#include "runtime/nn/knowledge/triple_score.hpp"
#include "runtime/nn/ranking.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::nn {

/// Queries of one product.
inline constexpr std::size_t queries_at_once = 256;

/// Rows that score above an answer, and level with it; its own row and known answers left out.
struct AboveAndLevel {
  std::uint64_t above = 0;
  std::uint64_t level = 0;

  AboveAndLevel& operator+=(const AboveAndLevel& other) {
    above += other.above;
    level += other.level;
    return *this;
  }
  /// Average of the optimistic and the pessimistic rank.
  double rank() const { return 1.0 + static_cast<double>(above) + static_cast<double>(level) / 2; }
  friend bool operator==(const AboveAndLevel&, const AboveAndLevel&) = default;
};

/// Entities of a block that queries do not count.
struct LeftOutRows {
  std::span<const std::uint64_t> offsets;  ///< [queries + 1] from 0 to rows.size()
  std::span<const std::uint64_t> rows;     ///< of each query ascending, none twice
};

/// What a perceptron of pairs (nn/decoder.hpp) does with the end that is ranked: its key for a query q
/// is Σ_h out[h] · relu(q[h] + Σ_c weight[h, c] row[c]). What is added for the other end is in q.
struct HalfPerceptron {
  ConstMatrix weight;          ///< [hidden, columns of rows]
  std::span<const float> out;  ///< [hidden]
};

/// Up to `queries_at_once` queries, to be compared with any rows.
/// Threads: after the constructor any number at once
class EntityRanker {
 public:
  /// \param queries  [n, cols] as query_rows() makes them
  EntityRanker(const TripleScore& score, ConstMatrix queries);
  /// \param half     copied
  /// \param queries  [n, hidden]
  EntityRanker(const HalfPerceptron& half, ConstMatrix queries);

  std::size_t size() const { return count_; }

  /// keys[i] = key of query i and of row i of `answers` [n, cols]: the bits that this row has in
  /// count().
  void answer_keys(ConstMatrix answers, std::span<float> keys) const;

  /// Adds what rows of entities count to `counts` [n]. A NaN ranks below everything and level with
  /// other NaN and -inf, as in ranking.hpp.
  /// \param keys      [n] of the answers
  /// \param left_out  rows of `entities` that do not count, among them the answer's own
  void count(ConstMatrix entities, std::span<const float> keys, const LeftOutRows& left_out,
             std::span<AboveAndLevel> counts) const;

 private:
  struct Scratch;
  Scratch scratch() const;
  /// Keys of some rows and all queries: [rows, queries_at_once] in `scratch`.
  void keys_of(ConstMatrix entities, Scratch& scratch) const;
  void hinge_keys(ConstMatrix entities, Scratch& scratch) const;

  TripleScore score_;
  Comparison comparison_;
  std::size_t count_;
  Matrix queries_;                   ///< [queries_at_once, cols], where they are multiplied
  RowTiles tiles_;                   ///< where they are not
  Matrix weight_ = {};               ///< of a perceptron
  std::vector<float> factors_ = {};  ///< its `out`; empty: there is none
};

/// Means over all queries, in their order.
/// \returns none without queries
std::optional<RankingScores> scores_of_counts(std::span<const AboveAndLevel> counts,
                                              std::span<const std::uint64_t> ks);

}  // namespace troupe::nn
