#pragma once
/// \file list_cache.hpp
/// Neighbour lists of nodes of other hosts that a rank keeps. What a batch holds does not depend on
/// them; who is asked for it does.
#include "runtime/base/pooled_vector.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/batch_builder.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

struct ListCacheOptions {
  std::uint64_t budget_bytes = 0;  ///< lists, ids, and bits to find nodes by
  PartHeat heat = {};              ///< of the store
};

/// Nodes of one type whose lists are fetched together.
struct ListPiece {
  struct Range {  ///< [first, first + count)
    NodeId first{};
    std::uint64_t count = 0;
  };
  NodeTypeId type{};
  std::vector<Range> ranges = {};

  std::uint64_t count() const;
  PooledVector<NodeId> nodes() const;
};

struct PieceLimits {
  std::uint64_t nodes = 0;                         ///< in a piece
  std::uint64_t budget_bytes = ~std::uint64_t{0};  ///< what certainly does not fit is left out
};

/// The nodes of the parts that do not lie here, hottest first, `limits.nodes` in a piece, and what
/// is left of each type in the last ones. Types whose lists are never asked for have none.
/// \param here  [parts] whether the part's lists lie here
/// \requires `heat` has a profile of each type and part
std::vector<ListPiece> list_pieces(const GraphInfo& graph, const PartitionBook& book,
                                   const PartHeat& heat, EdgeDir dir, const std::vector<bool>& here,
                                   const PieceLimits& limits);

/// What lists that are kept must have, so that batches can be sampled with `options` from them.
EdgeData kept_data(const SampleOptions& options);

/// Puts fetched lists together as a part that owns no node and keeps the lists in its halo.
/// Lifecycle: add() pieces until one does not fit; take()
/// Threads:   one at a time
class ListCacheBuilder {
 public:
  /// \param options  those of the batches that are to profit: direction, choice and data of edges
  ListCacheBuilder(std::shared_ptr<const GraphInfo> graph, const SampleOptions& options,
                   std::uint64_t budget_bytes);

  /// How a piece is fetched: as a batch of one hop with all neighbours of its nodes as seeds.
  std::shared_ptr<const SampleOptions> fetch_options() const { return fetch_; }

  /// Keeps the lists of a piece.
  /// \param batch         sampled with fetch_options()
  /// \param original_ids  of the piece's nodes, which are the batch's first
  /// \returns false, and keeps nothing, if they do not fit into the budget
  /// \requires the piece's nodes were not added before
  bool add(const ListPiece& piece, const SampledBatch& batch,
           std::span<const OriginalId> original_ids);

  /// Makes the part, with alias tables where the batches' choice needs weights.
  /// \param id  of the part: none that the graph has
  /// \errors out_of_memory; data_corruption: weights that no list can have
  Result<std::shared_ptr<const Part>> take(PartId id) &&;

 private:
  struct OfNodeType {
    std::vector<std::uint64_t> ids;
    std::vector<std::uint64_t> original_ids;
  };
  struct OfEdgeType {
    std::vector<std::uint64_t> offsets = {0};  ///< in the order in which nodes were added
    std::vector<std::uint64_t> neighbours;
    std::vector<std::uint64_t> edge_ids;
    std::vector<float> weights;
    std::vector<std::int64_t> times;
  };
  std::uint64_t bytes_of(const ListPiece& piece, const SampledBatch& batch) const;

  std::shared_ptr<const GraphInfo> graph_;
  std::shared_ptr<const SampleOptions> fetch_;
  std::vector<EdgeTypeId> weighted_;  ///< edge types whose lists get alias tables
  std::uint64_t left_ = 0;
  std::vector<OfNodeType> nodes_;
  std::vector<OfEdgeType> edges_;
};

}  // namespace troupe
