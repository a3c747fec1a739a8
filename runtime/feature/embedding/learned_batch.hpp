#pragma once
/// \file learned_batch.hpp
/// Learned rows of one batch, as a rank sees them: which rows to ask of which part, where they go, and
/// which gradients go back to which part. Knows no actors.
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/embedding/messages.hpp"
#include "runtime/feature/embedding/options.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// Rows by node type: [nodes of the batch, dim]; without columns where the type has no table.
using LearnedInputs = std::vector<Matrix>;

/// Lifecycle: questions(), an answer() to each; take(); then gradients()
/// Threads:   one at a time
class LearnedBatch {
 public:
  struct Question {
    PartId part{};
    ReadLearned request;  ///< Without generation, step and `best`
  };
  LearnedBatch(std::shared_ptr<const EmbeddingPlan> plan, const PartitionBook& book,
               std::shared_ptr<const SampledBatch> sampled);

  /// One for each part that has such nodes.
  const std::vector<Question>& questions() const { return questions_; }
  /// \param question  place in questions()
  /// \errors data_corruption: another number of rows
  Status answer(std::size_t question, const LearnedRows& rows);
  bool done() const { return missing_ == 0; }
  std::shared_ptr<const LearnedInputs> take();

  /// Nodes of tables, duplicates counted.
  std::uint64_t nodes() const { return nodes_; }
  std::uint64_t row_bytes() const { return row_bytes_; }

  /// By part, for every part: the rows that it owns. Without generation, step and rank.
  /// \param gradients  by node type, as the rows
  /// \param weight     0: shares are empty
  static std::vector<SparseGradients> empty_shares(std::uint32_t parts);
  std::vector<SparseGradients> shares(const LearnedInputs& gradients, std::uint64_t weight) const;

 private:
  std::shared_ptr<const EmbeddingPlan> plan_;
  std::uint32_t parts_ = 0;
  std::shared_ptr<const SampledBatch> sampled_;
  std::vector<Question> questions_;
  std::vector<std::vector<std::uint32_t>> places_;  ///< [questions] of its nodes in the batch
  std::vector<bool> answered_;
  std::size_t missing_ = 0;
  std::uint64_t nodes_ = 0;
  std::uint64_t row_bytes_ = 0;
  LearnedInputs rows_;
};

}  // namespace troupe
