#pragma once
/// \file sampling_work.hpp
/// Sampling of one batch as a sampler does it: lists of this host are sampled in place, requests for
/// the others are handed out. Knows no actors.
#include "runtime/base/assembly_step.hpp"
#include "runtime/base/result.hpp"
#include "runtime/base/trace.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/frontier_counts.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// Called when a hop of a batch begins (0, 1, …; `hops` when the batch is sampled), for tests and
/// traces. Threads: any.
using HopObserver = std::function<void(const BatchKey& key, std::uint32_t hop)>;

/// Graph and options of a batch, and the lists that this host has.
struct SamplingInputs {
  std::shared_ptr<const GraphInfo> graph;
  std::shared_ptr<const PartitionBook> book;
  std::shared_ptr<const SampleOptions> options;
  /// Parts that keep lists of nodes around them: asked instead of the nodes' owners.
  std::shared_ptr<const std::vector<std::shared_ptr<const Part>>> halos;
  /// The part if this host has its lists, else nullptr.
  std::function<std::shared_ptr<const Part>(PartId)> lists_here;
  std::shared_ptr<BatchScratchPool> scratch;  ///< Null: the batch's own
  HopObserver on_hop;
  TraceTrack trace;
  std::uint64_t flow = 0;  ///< Batch in the trace; 0: none
};

/// Lifecycle: step() until done; take()
/// Threads:   one at a time, any
class SamplingWork {
 public:
  using Question = HopQuestion;
  using Reply = HopReply;
  using Step = AssemblyStep<HopQuestion>;
  using Arrived = ArrivedReply<HopReply>;

  /// Nothing is computed yet.
  /// \param seed_times  [seeds], or empty; as BatchBuilder has them
  /// \requires the seeds are in the book
  SamplingWork(SamplingInputs inputs, BatchKey key, NodeTypeId seed_type, std::vector<NodeId> seeds,
               std::vector<std::int64_t> seed_times = {});

  /// Takes replies, samples this host's lists, and continues with the next hop as long as it needs no
  /// other host. Requests to other hosts are handed out before this host's lists are sampled.
  /// \errors those of BatchBuilder::answer and sample_one_hop
  Result<Step> step(const std::vector<Arrived>& arrived);

  const BatchKey& key() const { return key_; }
  /// Nodes by hop, and those requested elsewhere.
  const FrontierCounts& frontier() const { return frontier_; }
  /// \requires the last step was done
  SampledBatch take() &&;

 private:
  std::shared_ptr<const Part> here(const HopQuestion& question) const;
  Status sample_here();
  void split(std::vector<HopQuestion> questions, std::vector<HopQuestion>& elsewhere);
  void begin_hop(bool asks);

  SamplingInputs inputs_;
  BatchKey key_;
  NodeTypeId seed_type_;
  std::vector<NodeId> seeds_;
  std::vector<std::int64_t> seed_times_;
  std::optional<BatchBuilder> builder_;
  std::vector<HopQuestion> local_;  ///< To be answered in place
  FrontierCounts frontier_;
  TraceTrack::TimePoint hop_began_{};
};

}  // namespace troupe
