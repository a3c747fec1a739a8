#pragma once
/// \file batch_builder.hpp
/// Grows one mini-batch hop by hop: says which neighbours to ask which part for, takes the replies
/// in any order, numbers new nodes by first appearance. Knows no actors; a sampler drives many of
/// these at once.
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/list_tables.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/batch_scratch.hpp"
#include "runtime/sample/links/exclusions.hpp"
#include "runtime/sample/links/link_options.hpp"
#include "runtime/sample/mini_batch.hpp"
#include "runtime/sample/one_hop.hpp"
#include "runtime/sample/walks/walk_options.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// The `sample` section of a job, resolved against the graph.
struct SampleOptions {
  /// Fanout per hop and edge type: fanout[hop][edge type]; all_neighbours for the whole list.
  std::vector<std::vector<std::int32_t>> fanout = {};
  std::uint16_t choice = 0;  ///< Place in choice_kinds()
  bool replace = false;
  bool shared = false;   ///< All hops draw with the words of the first, where the choice reads it
  EdgeData edge_data{};  ///< What batches carry of the edges of the types that have it
  /// Edge types of which batches have entry numbers whatever `edge_data` says: for columns of edges.
  std::vector<EdgeTypeId> entries_of{};
  EdgeDir dir = EdgeDir::in;
  Frontier frontier = Frontier::fresh;
  bool disjoint = false;           ///< Each seed has a tree of its own, drawn for itself
  std::optional<TimeRule> time{};  ///< Seeds have times, which limit their trees; if disjoint
  std::int64_t seed_time = 0;  ///< Of all seeds of batches whose seeds have no times of their own
  std::optional<LinkOptions> links{};  ///< Seeds are links
  /// Random walks begin at the seeds; fanouts are not read. With `links`: pairs of walks from the sources of
  /// the positive ones take their place.
  std::optional<WalkOptions> walks{};
  Subgraph subgraph = Subgraph::directional;
  /// [edge types] for Subgraph::bidirectional: type that the reverses of a type's edges are of.
  std::vector<std::optional<EdgeTypeId>> reverse_of{};
  std::uint64_t job_seed = 0;
  std::uint64_t max_edges_per_reply = ~std::uint64_t{0};
};

/// Edge types along which some hop draws: with a fanout above 0.
/// \param fanout  [hop][edge type]
std::vector<EdgeTypeId> drawn_types(const std::vector<std::vector<std::int32_t>>& fanout);
/// Whether some hop follows an edge type. \param fanout  [hop][edge type]
bool is_sampled(const std::vector<std::vector<std::int32_t>>& fanout, std::size_t edge_type);

/// Tables that lists need: along the types that the choice draws along.
ListTables list_tables(const SampleOptions& options);

/// Seeds of one node type.
struct SeedGroup {
  NodeTypeId type{};
  PooledVector<NodeId> nodes;
};

/// What a batch grows from.
struct BatchSeeds {
  std::vector<SeedGroup> groups;  ///< Seeds are numbered group after group
  /// Of all seeds; or empty: SampleOptions::seed_time. Not read without SampleOptions::time.
  PooledVector<std::int64_t> times = {};
  std::shared_ptr<const Exclusions> excluded = nullptr;  ///< Null: no edges

  std::uint64_t size() const;
};

/// One question to one part, along all edge types of the hop. `id` is unique in the batch and names the question when its reply
/// comes.
struct HopQuestion {
  std::uint32_t id = 0;
  PartId part{};
  ListsOf lists_of = ListsOf::owned;  ///< halo: for a part that lies here only
  HopRequest request;
};

/// Lifecycle:  construct; ask questions() and answer each until done(); take the batch. May be
///   dropped at any point
/// Threads:    one at a time
/// Guarantees: the batch is a pure function of (graph, options, key, seeds): neither the
///   partitioning, nor the halos, nor the order of replies changes it; a reply that was already taken, or that no
///   question waits for, is refused
/// Borrows:    `graph`, `book` and `here`, which must outlive it
class BatchBuilder {
 public:
  /// \param here  parts that lie here and keep lists of nodes around them: what these have is asked
  ///   of them and not of its owner, but for nodes whose edges' features are wanted
  /// \param scratch  memory that batches use one after the other; null: its own
  /// \param seed_times  [seeds], or empty: SampleOptions::seed_time for all. Not read without
  ///   SampleOptions::time
  /// \requires fanouts for every edge type in at most 255 hops; every seed is in `book`; fewer than
  /// 2^32 seeds, and if disjoint fewer than 2^64 seeds times nodes of any type
  BatchBuilder(const GraphInfo& graph, const PartitionBook& book,
               std::shared_ptr<const SampleOptions> options, BatchKey key, NodeTypeId seed_type,
               std::span<const NodeId> seeds,
               std::span<const std::shared_ptr<const Part>> here = {},
               std::shared_ptr<BatchScratchPool> scratch = nullptr,
               std::span<const std::int64_t> seed_times = {});
  /// Seeds of several types. SampledBatch::seed_index has those of all groups.
  /// \requires a group at least
  BatchBuilder(const GraphInfo& graph, const PartitionBook& book,
               std::shared_ptr<const SampleOptions> options, BatchKey key, const BatchSeeds& seeds,
               std::span<const std::shared_ptr<const Part>> here = {},
               std::shared_ptr<BatchScratchPool> scratch = nullptr);
  ~BatchBuilder();
  BatchBuilder(BatchBuilder&&) noexcept;
  BatchBuilder& operator=(BatchBuilder&&) noexcept;

  /// The questions that became askable since the last call: at the start, and whenever all replies
  /// of a hop are in, one per part that has lists of frontier nodes, however many edge types there
  /// are; or the rest of one whose reply was cut.
  std::vector<HopQuestion> questions();

  /// Takes a reply.
  /// \errors invalid_argument: unknown or answered question (nothing changes); 2^32 or more nodes
  ///   or edges of one type; data_corruption: counts, ids or sizes that cannot be (named). After
  ///   the last two the builder must be dropped
  Status answer(std::uint32_t question, const std::shared_ptr<const HopReply>& reply);
  Status answer(std::uint32_t question, HopReply reply);

  /// All hops are in. An empty seed list is done at once.
  bool done() const;
  std::uint32_t hop() const;  ///< the hop under way, from 0
  const BatchKey& key() const;

  /// \requires done()
  SampledBatch take() &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
