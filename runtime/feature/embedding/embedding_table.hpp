#pragma once
/// \file embedding_table.hpp
/// The rows of one table that one part owns, with their optimizer state.
#include "runtime/base/executor.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/feature/embedding/messages.hpp"
#include "runtime/feature/embedding/options.hpp"
#include "runtime/graph/part.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// Rows and state; a copy of them is what a roll-back, or the best epoch, needs.
struct EmbeddingRows {
  Matrix rows;   ///< [owned, dim]
  Matrix state;  ///< [owned, sparse_state_cols]

  EmbeddingRows copy() const;
};

/// Threads: readers at once, or one that writes
/// Borrows: the part's nodes
class EmbeddingTable {
 public:
  EmbeddingTable(const EmbeddingOptions& options, const PartNodes& nodes, std::uint64_t job_seed);

  const EmbeddingOptions& options() const { return options_; }
  const PartNodes& nodes() const { return nodes_; }

  /// The rows before the first step.
  void start(Executor& executor);

  struct Gradients {
    std::span<const NodeId> nodes;  ///< owned by the part
    ConstMatrix rows;               ///< [nodes, dim]
  };
  /// One step: gradients of equal nodes are added in the order given, from zero, divided by `weight`,
  /// and the optimizer updates the rows that are named. The same bits for any executor.
  /// \param shares  in rank order
  /// \param number  steps of the table so far, this one included
  void apply(Executor& executor, std::span<const Gradients> shares, std::uint64_t weight,
             std::uint64_t number);

  /// \param out  [nodes, dim]
  void gather(Executor& executor, ConstMatrix from, std::span<const NodeId> nodes,
              std::span<float> out) const;
  /// Sum over the rows of XXH3-128(name of the table, original id, bytes of the row).
  Digest digest(Executor& executor, ConstMatrix rows) const;

  const EmbeddingRows& rows() const { return rows_; }
  void put(const EmbeddingRows& copy) { rows_ = copy.copy(); }

 private:
  EmbeddingOptions options_;
  const PartNodes& nodes_;
  std::uint64_t job_seed_;
  EmbeddingRows rows_;
};

}  // namespace troupe
