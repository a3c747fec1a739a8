#pragma once
/// \file batch_source.hpp
/// Training batches of a job made in this process, without actors: for commands that look at batches
/// and train nothing. Runs get theirs from samplers and collectors (actors/).
#include "launcher/cluster_plan.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {

/// Lifecycle:  open(), then any number of batches
/// Threads:    batch() from any thread at once
/// Guarantees: a batch is the one that the job's trainers get, bit for bit
/// Owns:       all parts of the graph
class BatchSource {
 public:
  /// Loads all parts into this process.
  /// \param job  checked against the store's graph, of either trainer
  /// \errors those of loading parts and of ClusterPlan::make
  static Result<BatchSource> open(const Job& job, const PartitionedStore& store);

  const GraphInfo& graph() const { return *plan_->graph; }
  const SampleOptions& options() const { return *plan_->sample; }
  /// Of one epoch, all ranks together; 0 without training seeds.
  std::uint64_t num_batches() const { return order().num_batches(); }
  /// Samples and collects one batch.
  /// \param epoch   from 0
  /// \param number  over all ranks, below num_batches()
  /// \errors those of SamplingWork and CollectingWork
  Result<Batch> batch(std::uint32_t epoch, std::uint64_t number) const;

 private:
  BatchSource(std::shared_ptr<const ClusterPlan> plan,
              std::vector<std::shared_ptr<const Part>> parts)
      : plan_(std::move(plan)), parts_(std::move(parts)) {}
  const SeedOrder& order() const { return *plan_->orders.at("train"); }
  const std::shared_ptr<const Part>& part(PartId part) const { return parts_[raw(part)]; }

  std::shared_ptr<const ClusterPlan> plan_;
  std::vector<std::shared_ptr<const Part>> parts_;
  std::shared_ptr<BatchScratchPool> scratch_ = std::make_shared<BatchScratchPool>();
};

}  // namespace troupe
