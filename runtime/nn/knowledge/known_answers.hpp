#pragma once
/// \file known_answers.hpp
/// The true answers of queries (known end, relation, replaced end), which filtered ranks leave out.
#include "runtime/nn/knowledge/triple_score.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::nn {

/// A question about triples: which ends complete the known one?
struct TripleQuery {
  std::uint64_t known = 0;
  std::uint32_t relation = 0;
  ReplacedEnd replaced = ReplacedEnd::tail;
};

/// Entities of a part that queries leave out, as LeftOutRows has them.
struct KnownRows {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> rows;
};

/// Lifecycle: add() the triples of all roles, then finish(); 48 bytes a triple
/// Threads:   immutable after finish(); any number at once
class KnownAnswers {
 public:
  /// Ids are of any kind, but of one: those of queries and of answers.
  void add(std::uint64_t head, std::uint32_t relation, std::uint64_t tail);
  void finish();

  /// Places of the known answers among the entities [first, first + count) of each query,
  /// ascending, none twice.
  KnownRows rows_among(std::span<const TripleQuery> queries, std::uint64_t first,
                       std::uint64_t count) const;

 private:
  struct Answer {
    std::uint64_t known = 0;
    std::uint32_t relation = 0;
    std::uint64_t answer = 0;
    friend auto operator<=>(const Answer&, const Answer&) = default;
  };
  std::array<std::vector<Answer>, 2> answers_;  ///< by replaced end
};

}  // namespace troupe::nn
