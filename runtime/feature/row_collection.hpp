#pragma once
/// \file row_collection.hpp
/// Brings together the rows of one batch: says which rows to ask which part for, takes the replies
/// in any order, writes normalised float32 rows to their final place, or stages them for a device. Knows no
/// actors; a collector drives many of these at once.
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/feature/future_cache.hpp"
#include "runtime/feature/row_cache.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/feature/row_slots.hpp"
#include "runtime/graph/normalize.hpp"
#include "runtime/partition/partition_book.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// Converts and normalises rows. Immutable; any number of threads at once.
class RowDecoder {
 public:
  /// \errors failed_precondition: `column` without statistics in the store
  static Result<RowDecoder> create(const NodeTypeInfo& type, Normalize normalize);
  /// Of features of edges, which are not normalized.
  static Result<RowDecoder> create(const EdgeTypeInfo& type);
  /// Decodes plain float32 rows (tensors).
  static RowDecoder plain(std::uint64_t cols);

  std::uint64_t cols() const { return info_.cols; }
  std::size_t row_bytes() const;
  /// Stored rows are float32 and stay as they are.
  bool keeps_rows() const { return info_.dtype == DType::f32 && normalize_ == Normalize::none; }
  /// One stored row to float32.
  /// \param out [cols]
  void decode(std::span<const std::byte> row, std::span<float> out) const;

 private:
  FeatureInfo info_;
  Normalize normalize_ = Normalize::none;
  ColumnScale scale_;
};

/// A named column that batches have.
struct WantedColumn {
  TableName table;  ///< Of nodes or edges
  ColumnInfo info;
};

struct CollectOptions {
  std::vector<RowDecoder> decoders;  ///< by NodeTypeId; cols() == 0 where the type has no features
  /// By EdgeTypeId, of features of edges; cols() == 0 where none are wanted. Empty: of no type. Read with
  /// source `features` alone, and only where batches have the entry numbers.
  std::vector<RowDecoder> edge_decoders = {};
  /// Ascending by table. Read with source `features` alone; those of edges only where batches have the
  /// entry numbers.
  std::vector<WantedColumn> columns = {};
  /// By NodeTypeId: of one node's label or targets, for the charge of answers. Default: none have any.
  std::vector<std::uint64_t> label_bytes;
  RowSource source;
  bool with_labels = true;
  bool with_original_ids = true;        ///< for other readers than a digest
  DigestMode digest = DigestMode::off;  ///< what the trainer will digest; that needs original ids
  /// Training batches are digested while their rows are placed: the trainer is in this process.
  bool digest_here = false;
  /// Rows and original ids of the distinct seeds alone, which come first: BatchRows has so many
  /// rows, and none of other types. Only with digest off.
  bool seeds_only = false;

  bool wants_original_ids() const { return with_original_ids || digest != DigestMode::off; }
  bool wants_tables() const { return !seeds_only && source.kind == RowSource::Kind::features; }
  bool wants_edge_features(std::size_t type) const {
    return type < edge_decoders.size() && edge_decoders[type].cols() > 0 && wants_tables();
  }
};

/// Lifecycle: construct; answer every question (any order); take the batch when done().
/// Threads:   one at a time
class RowCollection {
 public:
  /// Puts the rows that halos and the cache have in their place.
  /// \param cache  rows that need not be asked for; those of seeds with labels are, as they come
  ///   with these
  /// \param here   parts that lie here and keep rows of nodes around them; not needed afterwards
  /// \param future  a cache that is asked before `cache`, and gets the rows that come
  /// \param slots   of rows that a device has: rows of nodes are left to it, and those that it lacks are
  ///   staged as they are stored (Batch::staged). Read with source `features` alone. Null: rows are placed
  RowCollection(const PartitionBook& book, std::shared_ptr<const CollectOptions> options,
                std::shared_ptr<const SampledBatch> sampled,
                std::shared_ptr<const RowCache> cache = nullptr,
                std::span<const std::shared_ptr<const Part>> here = {}, FutureReads future = {},
                std::shared_ptr<const RowSlots> slots = nullptr);
  ~RowCollection();
  RowCollection(RowCollection&&) noexcept;
  RowCollection& operator=(RowCollection&&) noexcept;

  /// At most one per part, however many node and edge types there are. Valid until take().
  const std::vector<RowQuestion>& questions() const;
  /// \errors invalid_argument: unknown or answered question; data_corruption: sizes that do not fit
  /// the request
  Status answer(std::uint32_t question, const RowReply& reply);
  /// A question and the part that it is for.
  struct PartHere {
    std::uint32_t question = 0;
    const Part& part;
  };
  /// Answers questions from parts in memory: rows go straight from the tables to their places, in
  /// the order of places over all parts.
  Status answer_from(std::span<const PartHere> parts);
  Status answer_from(std::uint32_t question, const Part& part);
  /// Rows that the cache had, and which questions() leave out.
  std::uint64_t cached_rows() const;
  /// [types] nodes of the batch whose rows a cache of parts elsewhere could have, or has.
  /// \param here  [parts] whether a part lies here
  std::vector<PooledVector<NodeId>> cacheable(const std::vector<bool>& here) const;
  /// Rows that halos of parts here had, and which questions() leave out.
  std::uint64_t halo_rows() const;
  bool done() const;
  /// \requires done()
  Batch take() &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
