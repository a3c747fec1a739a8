#pragma once
/// \file row_cache.hpp
/// Rows of nodes of other hosts that a rank keeps. Which ones is chosen once, by how hot they are;
/// what a batch holds does not depend on it.
#include "runtime/base/result.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/id_index.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// What a rank keeps.
struct CacheOptions {
  enum class Policy : std::uint8_t {
    none,
    order,      ///< the first rows of each part, as the store's order and profile of heat say
    presample,  ///< the rows that the first batches asked for most often
    future      ///< those that the next batches read first (future_cache.hpp)
  };
  Policy policy = Policy::none;
  std::uint64_t budget_bytes = 0;  ///< rows, their ids and the index
  std::uint64_t presample_batches = 100;
  bool measure = false;          ///< count reads, to know what the best choice would have found
  PartHeat heat = {};            ///< of the store, for `order`; and for `future`, where it has one
  std::uint32_t lookahead = 32;  ///< batches that `future` knows beyond those that are requested

  /// Number of coming batches that ranks hint at; 0: the policy needs none.
  std::uint32_t batches_ahead() const { return policy == Policy::future ? lookahead : 0; }
};

/// What one row takes of the budget beside its bytes: its original id and two slots of the index.
inline constexpr std::uint64_t cache_entry_bytes = 40;

/// What a share of all rows of the graph takes of a budget.
std::uint64_t cache_bytes_of(const GraphInfo& graph, double share);

/// Nodes of one part and type whose rows are to be kept.
struct CacheChoice {
  PartId part{};
  NodeTypeId type{};
  std::vector<NodeId> nodes;
};

/// [type][part] how many rows, the first ones, are the hottest of the parts that do not lie here, by heat
/// per byte, within the budget. Types without features have none.
/// \param here  [parts] whether a part lies here
/// \requires `heat` has a profile of each type and part
std::vector<std::vector<std::uint64_t>> count_first_rows(const GraphInfo& graph,
                                                         const PartitionBook& book,
                                                         const CacheOptions& options,
                                                         const std::vector<bool>& here);

/// These rows.
std::vector<CacheChoice> choose_first_rows(const GraphInfo& graph, const PartitionBook& book,
                                           const CacheOptions& options,
                                           const std::vector<bool>& here);

/// Counts which rows are asked for.
/// Threads: one at a time
class RowCounter {
 public:
  explicit RowCounter(std::size_t types) : types_(types) {}
  /// The nodes of a section but those with labels, whose rows come with these also where a cache has
  /// them.
  void count(const RowSection& section);
  /// Those asked for most often, per byte; of equally many the smaller type, then id first.
  std::vector<CacheChoice> choose(const GraphInfo& graph, const PartitionBook& book,
                                  std::uint64_t budget_bytes) const;

 private:
  struct OfType {
    IdIndex index;
    std::vector<NodeId> ids;
    std::vector<std::uint32_t> times;
  };
  std::vector<OfType> types_;
};

/// Lifecycle: add() while it is filled; then only read
/// Threads:   reading from any number at once
class RowCache {
 public:
  explicit RowCache(const GraphInfo& graph);

  /// Keeps the rows of an answer.
  /// \errors data_corruption: other sizes than the question's, with the part
  Status add(const RowQuestion& question, const RowReply& reply);

  /// Whether rows of nodes that a part owns are kept; there are none to find of others.
  bool covers(PartId owner) const { return raw(owner) < parts_.size() && parts_[raw(owner)]; }
  /// Where a node's row lies, if it is kept.
  std::optional<std::uint32_t> find(NodeTypeId type, NodeId id) const {
    return types_[raw(type)].index.find(raw(id));
  }
  std::span<const std::byte> row(NodeTypeId type, std::uint32_t at) const;
  OriginalId original_id(NodeTypeId type, std::uint32_t at) const {
    return types_[raw(type)].original_ids[at];
  }
  std::uint64_t rows() const;
  /// [types]
  std::vector<std::uint64_t> rows_of_types() const;

 private:
  struct OfType {
    std::uint64_t row_bytes = 0;
    IdIndex index;
    std::vector<std::byte> rows;
    std::vector<OriginalId> original_ids;
  };
  void keep(const RowSection& section, const RowSectionView& view);

  std::vector<OfType> types_;
  std::vector<bool> parts_;  ///< up to the last whose rows are kept
};

/// The questions that fill a cache, in pieces of at most `piece_bytes` of rows.
std::vector<RowQuestion> cache_questions(const GraphInfo& graph,
                                         const std::vector<CacheChoice>& choices,
                                         std::uint64_t piece_bytes);

}  // namespace troupe
