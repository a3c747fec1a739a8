#pragma once
/// \file batch_builder_state.hpp
/// A batch while it grows. For batch_builder*.cpp only.
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/frontier_share.hpp"
#include "runtime/sample/list_places.hpp"
#include "runtime/sample/listed_rows_of_hops.hpp"
#include "runtime/sample/subgraph/induced_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

struct BatchBuilder::State {
  static constexpr std::uint64_t most_local = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t nothing = std::numeric_limits<std::size_t>::max();
  /// A question of the hop under way.
  struct Question {
    std::uint32_t place = 0;
    std::vector<std::size_t> shares = {};  ///< In order of edge types; empty once answered
  };

  const GraphInfo& graph;
  const PartitionBook& book;
  ListPlaces list_places;
  std::shared_ptr<const SampleOptions> options;
  std::shared_ptr<BatchScratchPool> pool;
  std::unique_ptr<BatchScratch> scratch;
  SampledBatch batch;
  std::uint32_t hop = 0;
  std::vector<HopQuestion> pending;  ///< not handed out yet
  std::uint32_t next_question = 0;
  std::vector<Question> questions;    ///< of the hop under way; the last one is next_question - 1
  std::vector<FrontierShare> shares;  ///< of the hop under way
  std::size_t open = 0;               ///< questions without an answer
  /// Who is asked, as ListPlaces numbers them: [node type][position in the frontier] -> place
  std::vector<PooledVector<std::uint32_t>> asked;
  /// [node type][place]; empty for types that no edge type asks for
  std::vector<std::vector<PooledVector<NodeId>>> nodes_at;
  /// As nodes_at: their positions in the frontier, where they are needed; empty where one place is
  /// asked for all
  std::vector<std::vector<PooledVector<std::uint32_t>>> positions_at;
  std::vector<std::vector<PooledVector<std::uint32_t>>> trees_at;  ///< As nodes_at, if disjoint
  PooledVector<std::int64_t> tree_times;  ///< [seeds], or empty without times
  std::vector<std::size_t> share_at;      ///< [edge types, places] -> share, or `nothing`
  std::vector<std::uint64_t> received;    ///< edges so far, by edge type
  std::vector<bool>
      lists_rows;           ///< By edge type: only its rows with edges are kept (row_offsets.hpp)
  ListedRowsOfHops listed;  ///< Until the hops are over
  std::shared_ptr<const Exclusions> excluded;  ///< Null: no edges
  /// After the last hop: all edges among the nodes are requested.
  bool closing = false;
  std::vector<InducedNodes> induced;  ///< By node type, while closing

  State(const GraphInfo& g, const PartitionBook& b, std::shared_ptr<const SampleOptions> o,
        std::span<const std::shared_ptr<const Part>> h, std::shared_ptr<BatchScratchPool> p)
      : graph(g),
        book(b),
        list_places(b, h),
        options(std::move(o)),
        pool(p ? std::move(p) : std::make_shared<BatchScratchPool>()),
        scratch(pool->take(book, options->disjoint)) {}
  ~State() { pool->give_back(std::move(scratch)); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Batch-local indices of the nodes that the hop asks for.
  struct Range {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t size() const { return end - begin; }
  };
  Range frontier(NodeTypeId type) const {
    const auto& ends = batch.nodes[raw(type)].hop_end;
    return {closing ? 0 : batch.first_row_node(type, hop), ends[hop]};
  }
  std::int32_t fanout(std::size_t edge_type) const {
    if (!closing) {
      return options->fanout[hop][edge_type];
    }
    return is_sampled(options->fanout, edge_type) ? all_neighbours : 0;
  }
  StreamKey key_of(std::size_t edge_type) const;
  EdgeData edge_data(std::size_t edge_type) const {
    auto data = options->edge_data & edge_data_of(graph.edge_types[edge_type]);
    data.entries = data.entries ||
                   std::ranges::find(options->entries_of, static_cast<EdgeTypeId>(edge_type)) !=
                       options->entries_of.end();
    return data;
  }
  /// Whether features of edges are wanted along an edge type of the hop that starts at a node type:
  /// only owners of lists have them.
  bool needs_owners(NodeTypeId type) const {
    for (std::size_t e = 0; e < batch.edges.size(); ++e) {
      if (batch.edges[e].destination_type == type && fanout(e) != 0 && edge_data(e).entries) {
        return true;
      }
    }
    return false;
  }
  std::size_t places() const { return list_places.count(); }
  /// [places] The hop's shares along an edge type; empty: nothing is asked along it.
  std::span<const std::size_t> shares_of(std::size_t edge_type) const {
    return fanout(edge_type) == 0 ? std::span<const std::size_t>()
                                  : std::span(share_at).subspan(edge_type * places(), places());
  }
  /// Whether only rows with edges are kept along the edge types that end at a node type.
  bool lists_rows_at(std::size_t node_type) const {
    for (std::size_t e = 0; e < batch.edges.size(); ++e) {
      if (raw(batch.edges[e].destination_type) == node_type) {
        return lists_rows[e];
      }
    }
    return false;
  }

  void begin(BatchKey key, const BatchSeeds& seeds);
  void number_seeds(const BatchSeeds& seeds);
  void find_who_has();
  void share_out(std::size_t edge_type);
  void ask(std::uint32_t place);
  void group_frontier(std::size_t node_type);
  void post(Question question);
  Status take_section(FrontierShare& share, const HopSectionView& answer,
                      std::shared_ptr<const HopReply> reply);
  Status take_reply(std::uint32_t number, const std::shared_ptr<const HopReply>& reply);
  template <class F>
  auto with_numbers(std::size_t type, F&& f) {
    return options->disjoint ? f(scratch->numbers_in_trees[type]) : f(scratch->numbers[type]);
  }
  /// Appends the data of some edges of an answer.
  static void add_edge_data(BatchEdges& edges, const HopSectionView& answer, std::size_t first,
                            std::size_t count);
  /// Entries of an answer that lie one after the other, in disjoint batches of one tree.
  static constexpr std::size_t longest_run = std::size_t{1} << 20;
  struct Run {
    const HopSectionView* answer = nullptr;
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint32_t tree = 0;
  };
  /// Numbers nodes of one tree.
  template <class From>
  void number_in_tree(std::size_t type, std::span<const From> ids, std::uint32_t tree,
                      std::uint32_t* out) {
    auto& nodes = batch.nodes[type];
    scratch->numbers_in_trees[type].number(tree, ids, nodes.ids, out);
    nodes.trees.resize(nodes.ids.size(), tree);
  }
  Status merge_entries(std::size_t edge_type, const Run& run);
  Status merge_answer(std::size_t edge_type, const HopSectionView& answer);
  /// Entries of an answer that a node of the frontier got.
  struct ListOf {
    std::uint32_t position;
    std::uint32_t count;
    std::size_t first;
    const HopSectionView* answer;
  };
  PooledVector<ListOf> lists_of(std::size_t edge_type) const;
  Status merge_lists(std::size_t edge_type, const PooledVector<ListOf>& lists);
  Status merge_trees(std::size_t edge_type, const PooledVector<ListOf>& lists);
  Status merge_listed(std::size_t edge_type);
  void choose_listed();
  void end_rows();
  const HopSectionView* whole_answer(std::size_t edge_type) const;
  Result<bool> merge_whole(std::size_t edge_type);
  template <class IdT>
  Status merge_shares(std::size_t edge_type);
  Status merge(std::size_t edge_type);
  Status merge_induced(std::size_t edge_type);
  Status merge_hop();
  bool close();
  Status go_on();
};

}  // namespace troupe
