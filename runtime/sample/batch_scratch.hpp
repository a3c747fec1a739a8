#pragma once
/// \file batch_scratch.hpp
/// Memory that batches need while they grow, used by one after the other.
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/node_numbers.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

/// What one batch uses at a time.
struct BatchScratch {
  std::vector<NodeNumbers> numbers;           ///< By node type
  std::vector<NodeNumbers> numbers_in_trees;  ///< Of disjoint batches: by node type, ids with trees

  std::vector<NodeNumbers>& used(bool disjoint) { return disjoint ? numbers_in_trees : numbers; }
  std::size_t bytes() const;
};

/// Lifecycle:  one per sampler
/// Threads:    any
/// Guarantees: keeps as many as batches grew at once, each as large as its largest batch
class BatchScratchPool {
 public:
  /// One that knows no nodes. \param book  the same for all batches
  std::unique_ptr<BatchScratch> take(const PartitionBook& book, bool disjoint = false);
  void give_back(std::unique_ptr<BatchScratch> scratch);
  /// Of those that no batch uses.
  std::size_t kept_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<BatchScratch>> kept_;
};

}  // namespace troupe
