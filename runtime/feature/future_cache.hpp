#pragma once
/// \file future_cache.hpp
/// Rows of nodes of other hosts that a rank keeps for the batches that it knows to come (policy
/// `future`). What a batch holds does not depend on it. For a fixed choice of rows see row_cache.hpp.
#include "runtime/base/result.hpp"
#include "runtime/feature/future_rows.hpp"
#include "runtime/feature/row_cache.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

struct CollectOptions;

/// Nodes of a type, the first of a batch, whose rows come with their labels: they are requested also
/// where a cache has them.
std::uint32_t labelled_nodes(const SampledBatch& sampled, const CollectOptions& options,
                             NodeTypeId type);

/// [node types] rows that a budget holds of each: shared as `hotness` shares it where there is a profile
/// of heat, else in proportion to the bytes of the rows that do not lie here.
std::vector<std::uint64_t> future_room(const GraphInfo& graph, const PartitionBook& book,
                                       const CacheOptions& options, const std::vector<bool>& here);

/// Lifecycle: expect() a batch as soon as its nodes are known, look up its rows, insert() those that came;
///   each step may be left out
/// Threads:   any number at once
/// Bound:     the budget for rows with their ids, and `CacheOptions::lookahead` batches of what is known
class FutureCache {
 public:
  /// \param here  [parts] whether a part lies here: its rows are not kept
  FutureCache(const std::shared_ptr<const GraphInfo>& graph,
              std::shared_ptr<const PartitionBook> book,
              const std::shared_ptr<const CacheOptions>& options, std::vector<bool> here);

  /// The batch of a turn will read its rows.
  /// \param ticket  counts what is asked of the cache: a batch that was looked up by a later one is no
  ///   longer expected
  void expect(Turn turn, std::uint64_t ticket, const SampledBatch& sampled,
              const CollectOptions& options);

  /// Rows are found, and do not change, while it lives. The rows of a turn are looked up once.
  class LookUp {
   public:
    /// \param turn  Nothing: the batch is not one of those in order
    LookUp(FutureCache& cache, std::optional<Turn> turn, std::uint64_t ticket)
        : cache_(cache), turn_(turn), ticket_(ticket), guard_(cache.mutex_) {}
    ~LookUp() { end(); }
    LookUp(const LookUp&) = delete;
    LookUp& operator=(const LookUp&) = delete;

    /// Where a row lies, if it is kept.
    /// \param with_original_id  as some are kept without
    std::optional<std::uint32_t> find(NodeTypeId type, NodeId id, bool with_original_id) const;
    std::span<const std::byte> row(NodeTypeId type, std::uint32_t at) const {
      return cache_.types_[raw(type)].row(at);
    }
    OriginalId original_id(NodeTypeId type, std::uint32_t at) const {
      return cache_.types_[raw(type)].original_id(at);
    }

   private:
    void end();

    FutureCache& cache_;
    std::optional<Turn> turn_;
    std::uint64_t ticket_;
    std::lock_guard<std::mutex> guard_;
  };

  /// Keeps the rows of a reply that are worth it.
  /// \requires the reply fits the question
  void insert(const RowQuestion& question, std::span<const RowSectionView> reply);

  /// Of a part whose rows it keeps.
  bool covers(PartId owner) const { return !here_[raw(owner)]; }
  /// [types]
  const std::vector<std::uint64_t>& room() const { return room_; }
  std::uint64_t rows() const;
  bool knows(Turn turn) const;

 private:
  /// Of one part and type.
  struct Heat {
    std::uint64_t first = 0;            ///< Node id
    std::vector<std::uint64_t> begins;  ///< [buckets] first rows
    std::vector<std::uint8_t> levels;   ///< [buckets]
  };
  /// When the rows of a turn were looked up last.
  struct LookedUp {
    Turn turn = 0;
    std::uint64_t ticket = 0;  ///< 0: never
  };

  void take_heat(const PartHeat& heat);
  std::uint8_t level(NodeTypeId type, PartId part, NodeId id) const;

  std::shared_ptr<const PartitionBook> book_;
  std::vector<bool> here_;
  std::vector<std::uint64_t> room_;
  std::vector<std::vector<Heat>> heat_;  ///< [type][part]; empty: there is no profile
  mutable std::mutex mutex_;
  std::vector<FutureRows> types_;
  std::vector<LookedUp> looked_up_;  ///< [window]
  std::vector<NodeId> reads_;        ///< While a batch is expected
};

/// The cache as a batch uses it.
struct FutureReads {
  std::shared_ptr<FutureCache> cache;  ///< Null: none
  std::optional<Turn> turn;
  std::uint64_t ticket = 0;
};

}  // namespace troupe
