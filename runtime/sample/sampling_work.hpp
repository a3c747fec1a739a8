#pragma once
/// \file sampling_work.hpp
/// Sampling of one batch as a sampler does it: lists of this host are sampled in place, requests for
/// the others are handed out. Knows no actors.
#include "runtime/base/assembly_step.hpp"
#include "runtime/base/result.hpp"
#include "runtime/base/trace.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/frontier_counts.hpp"
#include "runtime/sample/links/link_seeds.hpp"
#include "runtime/sample/seed_order.hpp"
#include "runtime/sample/walks/walk_builder.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
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

/// What a batch asks a part.
struct SampleQuestion {
  std::uint32_t id = 0;
  PartId part{};
  ListsOf lists_of = ListsOf::owned;  ///< Of a hop
  std::variant<HopRequest, FindNodes, HasEdges> request;
};
template <class Request>
struct SampleReply;
template <>
struct SampleReply<HopRequest> {
  using Type = HopReply;
};
template <>
struct SampleReply<FindNodes> {
  using Type = NodesFound;
};
template <>
struct SampleReply<HasEdges> {
  using Type = EdgesThere;
};

/// Lifecycle: step() until done; take()
/// Threads:   one at a time, any
class SamplingWork {
 public:
  using Question = SampleQuestion;
  template <class Request>
  using ReplyTo = typename SampleReply<Request>::Type;
  using Step = AssemblyStep<SampleQuestion>;
  using Arrived =
      ArrivedReply<std::variant<std::shared_ptr<const HopReply>, std::shared_ptr<const NodesFound>,
                                std::shared_ptr<const EdgesThere>>>;

  /// Nothing is computed yet.
  /// \param seed_times  [seeds], or empty; as BatchBuilder has them
  /// \requires the seeds are in the book
  SamplingWork(SamplingInputs inputs, BatchKey key, NodeTypeId seed_type,
               PooledVector<NodeId> seeds, PooledVector<std::int64_t> seed_times = {});
  /// Of nodes, or of links, for which ends of negative ones are found first. With options of walks, too,
  /// pairs of walks from the sources take the place of the links.
  /// \requires all nodes are in the book; options of links for links
  SamplingWork(SamplingInputs inputs, BatchKey key, OrderedSeeds seeds);

  /// Takes replies, samples this host's lists, and continues with the next hop as long as it needs no
  /// other host. Requests to other hosts are handed out before this host's lists are sampled.
  /// \errors those of BatchBuilder::answer, sample_one_hop and seed_limits.hpp
  Result<Step> step(const std::vector<Arrived>& arrived);

  const BatchKey& key() const { return key_; }
  /// Nodes by hop, and those requested elsewhere.
  const FrontierCounts& frontier() const { return frontier_; }
  /// \requires the last step was done
  SampledBatch take() &&;

 private:
  std::shared_ptr<const Part> here(PartId part, ListsOf lists_of) const;
  Status take_reply(const Arrived& arrived);
  Status answer_here();
  Result<std::vector<SampleQuestion>> questions();
  void split(std::vector<SampleQuestion> questions, std::vector<SampleQuestion>& elsewhere);
  Status take_lists(std::uint32_t question, const std::shared_ptr<const HopReply>& reply);
  Status take_edges(std::uint32_t question, const EdgesThere& there);
  void begin_hop(bool asks);
  Status begin();
  Status walk_first();
  Status draw_negatives(PositiveLinks links, LinkEndTypes types);
  Status grow();
  std::uint32_t hop() const { return walks_ ? walks_->step() : builder_->hop(); }
  bool is_grown() const {
    return walks_ ? !positives_ && walks_->done() : builder_ && builder_->done();
  }

  SamplingInputs inputs_;
  BatchKey key_;
  BatchSeeds seeds_;
  std::optional<PositiveLinks> positives_;  ///< Until their negatives are drawn
  std::optional<LinkSeeds> link_seeds_;     ///< Until they are found
  std::optional<BatchLinks> links_;         ///< Ends are places among the seeds
  std::optional<BatchBuilder> builder_;
  std::optional<WalkBuilder> walks_;   ///< In the place of the builder, or before positive links
  std::vector<SampleQuestion> local_;  ///< To be answered in place
  FrontierCounts frontier_;
  TraceTrack::TimePoint hop_began_{};
};

}  // namespace troupe
