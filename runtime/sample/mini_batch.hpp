#pragma once
/// \file mini_batch.hpp
/// A sampled mini-batch: seeds, the nodes reached from them, and the edges of each hop over
/// batch-local indices.
#include "runtime/base/ids.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/graph/edge_data.hpp"
#include "runtime/sample/row_offsets.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// Which nodes the next hop asks for: those new in this hop (PyG, GLT), or all so far, drawn afresh
/// (DGL's blocks).
enum class Frontier : std::uint8_t { fresh, all };  // "new" in the job file

/// What a batch is for. Evaluation draws from streams of its own: its epoch has the highest bit
/// set.
enum class Purpose : std::uint8_t { train, evaluate };

/// Which edges a batch has among its nodes: those that were drawn; their reverses too; or all edges of
/// the graph (PyG's `subgraph_type`).
enum class Subgraph : std::uint8_t { directional, bidirectional, induced };

/// Names a batch; with the graph and the job's settings it determines the whole content.
struct BatchKey {
  Purpose purpose = Purpose::train;
  std::uint32_t epoch = 0;   ///< from 0
  std::uint64_t number = 0;  ///< global batch number in the epoch
  friend auto operator<=>(const BatchKey&, const BatchKey&) = default;
  /// The epoch word of stream names.
  std::uint32_t stream_epoch() const noexcept {
    return purpose == Purpose::train ? epoch : epoch | 0x80000000U;
  }
};

/// The nodes of one type in a batch. Batch-local index = position, in order of first appearance:
/// seeds first, then hop by hop, edge types in schema order, frontier order, ascending position in
/// the neighbour list. In a disjoint batch each seed has a tree of its own, and a node that is in
/// several occurs once in each.
struct BatchNodes {
  PooledVector<NodeId> ids;             ///< distinct in a tree
  PooledVector<std::uint32_t> hop_end;  ///< [hops + 1]: nodes known after the seeds, after hop 1, …
  /// [nodes] place in the batch of the seed whose tree it is; empty unless disjoint.
  PooledVector<std::uint32_t> trees = {};
};

/// The sampled edges of one edge type: CSR over batch-local indices, destination-major (a
/// "destination" is the node whose neighbours were drawn, also for `edge_dir: out`). Rows lie hop
/// after hop. With `Frontier::fresh` the rows of hop h are the nodes new in hop h-1, so row r is
/// simply node r; with `Frontier::all` each hop has a row for every node so far.
struct BatchEdges {
  NodeTypeId destination_type{};        ///< of the rows
  NodeTypeId source_type{};             ///< of `sources`
  RowOffsets offsets;                   ///< [rows + 1], starts at 0
  PooledVector<std::uint32_t> sources;  ///< [edges] batch-local indices of the drawn neighbours
  /// [edges], or empty where not asked for or the graph does not have it.
  PooledVector<EdgeId> edge_ids;  ///< original
  PooledVector<float> weights;
  PooledVector<std::int64_t> times;
  /// Entry numbers in the main lists of the part that owns the row's node: what rows of features are
  /// asked for by. Like global ids they follow from the partitioning; they do not travel.
  PooledVector<std::uint64_t> entries = {};
  PooledVector<std::uint32_t>
      row_begin;  ///< [hops + 1]: rows of hop h (from 0) are [row_begin[h], row_begin[h+1])
};

/// The links of a batch whose seeds are links. Ends are batch-local indices, of the nodes of the edge
/// type's source and destination type.
struct BatchLinks {
  EdgeTypeId edge_type{};
  NodeTypeId source_type{};
  NodeTypeId destination_type{};
  PooledVector<std::uint32_t> sources;       ///< [positives]
  PooledVector<std::uint32_t> destinations;  ///< [positives]
  /// [positives, negatives of each], those of one positive one after the other.
  PooledVector<std::uint32_t> negative_sources;
  PooledVector<std::uint32_t> negative_destinations;
  PooledVector<float> labels;        ///< [positives], or empty
  PooledVector<std::int64_t> times;  ///< [positives], or empty
  /// [chunks, candidates of each] in place of negatives, where links are triples: nodes of the type of the
  /// end that is replaced (replaced_in()), which all triples of a chunk are compared with.
  PooledVector<std::uint32_t> candidates = {};
  std::uint64_t edges_drawn = 0;  ///< Negatives that are edges all the same, where strict
};

/// The walks of a batch of random walks, those of a seed one after the other.
struct BatchWalks {
  static constexpr std::uint32_t no_node = ~std::uint32_t{0};

  std::uint32_t steps = 0;               ///< Of each walk
  std::vector<NodeTypeId> column_types;  ///< [steps + 1] node types of the columns
  /// [walks, steps + 1] batch-local indices; `no_node` where a walk found no neighbor, and from there on
  /// unless it returns to its seed. Column 0 has the seeds.
  PooledVector<std::uint32_t> nodes;
  /// Places in `nodes`, ascending, of the steps before which a walk returned to its seed.
  PooledVector<std::uint32_t> restarts = {};
  std::uint64_t undecided = 0;  ///< Steps of second-order walks whose candidates were all rejected

  std::uint32_t columns() const { return steps + 1; }
};

struct SampledBatch {
  BatchKey key;
  Frontier frontier = Frontier::fresh;
  bool disjoint = false;  ///< Nodes have trees
  /// Unless directional, each edge type has one row for every node, and `hops` is 1: hop_end is {seeds,
  /// all nodes}, and all layers of a model work on all edges.
  Subgraph subgraph = Subgraph::directional;
  NodeTypeId seed_type{};  ///< Of the first seed, where seeds are links
  PooledVector<std::uint32_t>
      seed_index;  ///< [seeds] batch-local index of each; equal seeds share one, unless disjoint
  std::vector<BatchNodes> nodes;                   ///< by NodeTypeId
  std::vector<BatchEdges> edges;                   ///< by EdgeTypeId
  std::optional<BatchLinks> links = std::nullopt;  ///< Where seeds are links
  /// Of random walks: the batch has their nodes, and no edges.
  std::optional<BatchWalks> walks = std::nullopt;
  std::uint32_t hops = 0;

  /// The node of the first row of a hop along any edge type; the others follow.
  std::uint32_t first_row_node(NodeTypeId destination_type, std::uint32_t hop) const {
    const bool from_start = frontier == Frontier::all || hop == 0;
    return from_start ? 0 : nodes[raw(destination_type)].hop_end[hop - 1];
  }

  /// Calls `f(node, first, end)` for each row of a type that has edges, hop by hop: `node` is its
  /// batch-local index, [first, end) are its edges' positions.
  template <class F>
  void each_row(const BatchEdges& of_type, F&& f) const {
    const auto* const listed = of_type.offsets.listed();
    std::size_t at = 0;
    for (std::uint32_t hop = 0; hop < hops; ++hop) {
      const auto first_node = first_row_node(of_type.destination_type, hop);
      const auto first_row = of_type.row_begin[hop];
      const auto end_row = of_type.row_begin[hop + 1];
      for (; listed != nullptr && at < listed->rows.size() && listed->rows[at] < end_row; ++at) {
        f(first_node + (listed->rows[at] - first_row), listed->offsets[at],
          listed->offsets[at + 1]);
      }
      const auto* const offsets = listed == nullptr ? of_type.offsets.data() : nullptr;
      for (auto row = first_row; offsets != nullptr && row < end_row; ++row) {
        if (offsets[row] < offsets[row + 1]) {
          f(first_node + (row - first_row), offsets[row], offsets[row + 1]);
        }
      }
    }
  }

  std::uint64_t num_seeds() const;  ///< Nodes, or positive links
  std::uint64_t num_nodes() const;
  std::uint64_t num_edges() const;
};

/// What one layer of a model works on: a bipartite block. Destination i is also source row i, if
/// both are of one node type.
struct LayerBlock {
  std::uint32_t num_dst = 0;
  std::uint32_t num_src = 0;
  /// [num_dst + 1], absolute positions in `sources`; empty where `listed` takes their place.
  std::span<const std::uint32_t> offsets;
  std::span<const std::uint32_t>
      sources;                          ///< of the whole batch; row i is [offsets[i], offsets[i+1])
  std::span<const float> weights = {};  ///< of the edges, by position in `sources`; empty: none
  /// The first edge and one past the last, where the arrays are in a device's memory: they cannot be seen in
  /// `offsets` then.
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };
  std::optional<Range> edges = std::nullopt;
  /// The destinations that have edges, in place of `offsets`: of listed_block() alone.
  struct Listed {
    std::uint32_t first_row = 0;             ///< of destination 0
    std::span<const std::uint32_t> rows;     ///< ascending: destinations, from `first_row` on
    std::span<const std::uint32_t> offsets;  ///< [rows + 1], absolute positions in `sources`
    const RowOffsets* all = nullptr;         ///< of the batch

    std::uint32_t destination(std::size_t i) const { return rows[i] - first_row; }
    /// The first of `rows` that is not before a destination.
    std::size_t first_from(std::size_t destination) const {
      const auto row = first_row + static_cast<std::uint32_t>(destination);
      return static_cast<std::size_t>(std::ranges::lower_bound(rows, row) - rows.begin());
    }
  };
  std::optional<Listed> listed = std::nullopt;

  std::uint32_t first_edge() const {
    return edges ? edges->first : listed ? listed->offsets.front() : offsets[0];
  }
  std::uint32_t num_edges() const {
    const auto end = [this] { return listed ? listed->offsets.back() : offsets[num_dst]; };
    return edges ? edges->end - edges->first : end() - first_edge();
  }
};

/// The block of layer `layer` (0 = nearest the input) of a model with `layers` layers, for a batch
/// of one node and one edge type sampled over `hops >= layers` hops. With `Frontier::fresh` all
/// hops that the layer needs lie in one block; no sort.
LayerBlock layer_block(const SampledBatch& batch, std::uint32_t layer, std::uint32_t layers);

/// The same for one edge type of any batch. Destinations are nodes of the type whose neighbours were
/// drawn, sources of the other; both by batch-local index.
LayerBlock edge_block(const SampledBatch& batch, EdgeTypeId type, std::uint32_t layer,
                      std::uint32_t layers);

/// The same, but where the batch keeps only rows with edges, the block lists them in place of `offsets`.
LayerBlock listed_block(const SampledBatch& batch, EdgeTypeId type, std::uint32_t layer,
                        std::uint32_t layers);

/// The same block with offsets for all destinations.
LayerBlock with_offsets(LayerBlock block);

}  // namespace troupe
