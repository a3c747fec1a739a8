#pragma once
/// \file batch_scratch.hpp
/// Tables that batches need while they grow, used by one after the other. Their other memory comes from
/// the pool of blocks (runtime/base/pooled_vector.hpp).
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/node_numbers.hpp"
#include "runtime/sample/tree_numbers.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

/// What one batch uses at a time.
struct BatchScratch {
  std::vector<NodeNumbers> numbers;           ///< By node type
  std::vector<TreeNumbers> numbers_in_trees;  ///< Of disjoint batches: by node type

  std::size_t bytes() const;

  BatchScratch() = default;
  ~BatchScratch();
  BatchScratch(const BatchScratch&) = delete;
  BatchScratch& operator=(const BatchScratch&) = delete;

 private:
  friend class BatchScratchPool;
  std::size_t counted_bytes_ = 0;  ///< Of its bytes, in scratch_bytes()
};

/// Memory that this process has kept for later batches: tables, also those in use, and the most that
/// has lain in the pool of blocks.
std::uint64_t scratch_bytes();

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
