#pragma once
/// \file bench_data.hpp
/// The graph that a benchmark runs on, opened as a job says, with everything that sampling and
/// collecting need.
#include "runtime/base/result.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/seed_order.hpp"

#include <memory>
#include <vector>

namespace troupe::bench {

/// One host's view of a graph whose parts all lie here.
/// Threads: immutable; any number at once.
struct BenchData {
  Job job;
  PartitionedStore store;
  std::shared_ptr<const GraphInfo> graph;
  std::shared_ptr<const PartitionBook> book;
  std::vector<std::shared_ptr<const Part>> parts;
  std::shared_ptr<const SeedOrder> order;  ///< of the training seeds
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const CollectOptions> collect;
  std::shared_ptr<BatchScratchPool> scratch = std::make_shared<BatchScratchPool>();

  /// Batches that are as large as asked for: a short last one would be a good time for nothing.
  std::uint64_t full_batches() const { return order->num_seeds() / job.sample.batch_size; }
  BatchKey key(std::uint64_t number) const { return {Purpose::train, 0, number}; }
};

/// \param job  checked; its dataset is imported and partitioned if need be
/// \errors those of stores and of jobs that do not fit them
Result<BenchData> open_bench_data(Job job);

}  // namespace troupe::bench
