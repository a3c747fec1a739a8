#pragma once
/// \file walk_builder.hpp
/// Grows the walks of one batch step by step: says which neighbors to ask which part for, takes the replies
/// in any order. Knows no actors; as BatchBuilder for sampled neighborhoods.
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/batch_scratch.hpp"
#include "runtime/sample/links/graph_questions.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

namespace troupe {

/// One question to one part. `id` is unique in the batch and names the question when its reply comes.
struct WalkQuestion {
  std::uint32_t id = 0;
  PartId part{};
  ListsOf lists_of = ListsOf::owned;  ///< Of a hop; halo: for a part that lies here only
  std::variant<HopRequest, HasEdges> request;
};

/// Step s of walker w (its place in the batch: seed after seed, walks of a seed one after the other) takes
/// an entry of its node's list by the job's choice, with the stream of domain `walks`, the step's edge type
/// and hop s, id = the node's original id, tree = w.
/// Lifecycle:  construct; ask questions() and answer each until done(); take the batch. May be
///   dropped at any point
/// Threads:    one at a time
/// Guarantees: the batch is a pure function of (graph, options, key, seeds), whatever the partitioning and
///   the order of replies
/// Borrows:    `graph`, `book` and `here`, which must outlive it
class WalkBuilder {
 public:
  /// \param here, scratch, seed_times  as BatchBuilder has them
  /// \requires options->walks, whose types lead on from each other; every seed is in `book`; fewer than
  ///   2^32 places in BatchWalks::nodes, and below 2^24 walks of second order
  WalkBuilder(const GraphInfo& graph, const PartitionBook& book,
              std::shared_ptr<const SampleOptions> options, BatchKey key, NodeTypeId seed_type,
              PooledVector<NodeId> seeds, std::span<const std::shared_ptr<const Part>> here = {},
              std::shared_ptr<BatchScratchPool> scratch = nullptr,
              PooledVector<std::int64_t> seed_times = {});
  ~WalkBuilder();
  WalkBuilder(WalkBuilder&&) noexcept;
  WalkBuilder& operator=(WalkBuilder&&) noexcept;

  /// Those that became askable since the last call: at most one per place with lists, or per part.
  std::vector<WalkQuestion> questions();

  /// \errors invalid_argument: unknown or answered question; data_corruption: counts, ids or sizes that
  ///   cannot be (named). After the last the builder must be dropped
  Status answer(std::uint32_t question, const std::shared_ptr<const HopReply>& reply);
  Status answer(std::uint32_t question, const EdgesThere& there);

  bool done() const;
  std::uint32_t step() const;  ///< The step under way, from 0

  /// \requires done()
  SampledBatch take() &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
