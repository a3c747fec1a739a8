#pragma once
/// \file entity_queries.hpp
/// Ranks of a batch's triples among all entities, or of links among all nodes, as a rank or an evaluator sees them: what to ask the holder of which part,
/// and the sum of their counts. Knows no actors.
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/embedding/messages.hpp"
#include "runtime/nn/knowledge/known_answers.hpp"
#include "runtime/nn/knowledge/triple_score.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/run/task/link_queries.hpp"
#include "runtime/sample/knowledge/replaced_end.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// What all ranks rank with.
struct RankingPlan {
  nn::TripleScore score = {};
  nn::KnownAnswers known;  ///< triples, or links, of all roles, by global ids
  /// Edge types of links, where these are of several: their numbers are relations of `known`.
  std::vector<EdgeTypeId> relations = {};
  bool of_triples = false;  ///< Relations of `known` are the links' labels
  RankedEnds ends = RankedEnds::both;

  std::uint32_t relation_of(EdgeTypeId links) const {
    const auto found = std::ranges::find(relations, links);
    return found == relations.end() ? 0 : static_cast<std::uint32_t>(found - relations.begin());
  }
};

/// Rows that are compared, where they are not the learned rows of entities.
struct ComparedRows {
  std::uint32_t tensor = 0;  ///< number; 0: learned rows
  std::uint32_t cols = 0;    ///< 0: as many as queries have
  LinkWeights weights = {};  ///< of a perceptron, which needs `cols`
};

/// Columns of EntityQueries::take(): above and level with the tail, then with the head; zeros of an end that is not
/// ranked.
inline constexpr std::size_t rank_cols = 4;
/// Counts are float32 in these columns, whole numbers up to here.
inline constexpr std::uint64_t most_ranked_entities = std::uint64_t{1} << 24;

/// Of a task's outputs [links, kept + columns of queries] the queries. \requires kept <= outputs.cols
Matrix queries_of(ConstMatrix outputs, std::size_t kept);
/// The kept columns of the same outputs, then the counts of their queries: [links, kept + rank_cols].
Matrix with_counts(ConstMatrix outputs, std::size_t kept, ConstMatrix counts);

/// Lifecycle: questions(), an answer() to each; take()
/// Threads:   one at a time
class EntityQueries {
 public:
  struct Question {
    PartId part{};
    RankEntities request;  ///< Without generation, step and `best`
  };
  /// \param outputs  of the batch's triples, as the knowledge task makes them, or of links, as
  ///   add_link_queries() does
  EntityQueries(const RankingPlan& plan, const PartitionBook& book, const SampledBatch& sampled,
                ConstMatrix outputs, ComparedRows rows = {});

  /// Of each end that is ranked, one for each part that has entities.
  const std::vector<Question>& questions() const { return questions_; }
  /// \errors data_corruption: another number of counts
  Status answer(std::size_t question, const EntityCounts& counts);
  bool done() const { return missing_ == 0; }
  Matrix take() { return std::move(counts_); }

 private:
  void add_side(const RankingPlan& plan, const PartitionBook& book, const SampledBatch& sampled,
                ConstMatrix outputs, ReplacedEnd replaced);

  ComparedRows rows_;
  std::vector<Question> questions_;
  std::vector<ReplacedEnd> sides_;  ///< [questions]
  std::size_t missing_ = 0;
  Matrix counts_;
};

}  // namespace troupe
