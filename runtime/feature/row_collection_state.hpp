#pragma once
/// \file row_collection_state.hpp
/// Rows of one batch while they come together. For row_collection*.cpp only.
#include "runtime/feature/batch_digester.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/feature/row_placement.hpp"
#include "runtime/feature/staged_rows.hpp"
#include "runtime/feature/table_collection.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

struct RowCollection::State {
  const PartitionBook& book;
  std::shared_ptr<const CollectOptions> options;
  Batch batch;
  std::vector<RowQuestion> questions;
  /// [question][section][node] -> its batch-local index
  std::vector<std::vector<PooledVector<std::uint32_t>>> places;
  std::vector<bool> answered;
  std::size_t open = 0;
  std::uint32_t distinct_seeds = 0;
  PooledVector<std::int64_t> seed_labels;  ///< [distinct seeds] or empty
  Matrix seed_targets;                     ///< [distinct seeds, columns] or empty
  bool labels_seen = false;
  std::shared_ptr<const RowCache> cache;
  FutureReads future;
  std::optional<FutureCache::LookUp> future_rows;     ///< while questions are made
  std::vector<PooledVector<NodeId>> cached;           ///< [types]
  std::span<const std::shared_ptr<const Part>> here;  ///< while questions are made
  std::uint64_t halo_rows = 0;
  std::optional<BatchDigester> digester;  ///< the batch is digested here
  std::shared_ptr<const RowSlots> slots;  ///< rows are left to a device; null: they are placed here
  std::optional<RowStaging> staging;      ///< of these
  /// [question][section] memory of the rows that are staged; empty: none
  std::vector<std::vector<std::span<std::byte>>> staged;
  std::optional<TableCollection> tables;  ///< after prepare()

  State(const PartitionBook& b, std::shared_ptr<const CollectOptions> o)
      : book(b), options(std::move(o)) {}

  const SampledBatch& sampled() const { return *batch.sampled; }
  /// Nodes of a type that rows and original ids are wanted of: the first so many.
  std::size_t wanted_nodes(std::size_t type) const {
    if (!options->seeds_only) {
      return sampled().nodes[type].ids.size();
    }
    return type == raw(sampled().seed_type) ? distinct_seeds : 0;
  }
  bool wants_rows(std::size_t type) const { return options->decoders[type].cols() > 0; }

  void prepare();
  void begin_staging();
  void put_row(NodeTypeId type, std::uint32_t place, std::span<const std::byte> row);
  std::span<std::byte> stage(NodeTypeId type, PartId part, std::span<const std::uint32_t> group);
  bool take_from_cache(NodeTypeId type, std::uint32_t place, PartId owner);
  template <class Cache>
  void take_from(const Cache& from, std::uint32_t row, NodeTypeId type, std::uint32_t place);
  bool take_from_halo(NodeTypeId type, std::uint32_t place, PartId owner);
  void ask(NodeTypeId type, std::vector<std::size_t>& question_of);
  void ask_tables(std::vector<std::size_t>& question_of);
  std::size_t question_for(PartId part, std::vector<std::size_t>& question_of);
  Status check_open(std::uint32_t question) const;
  /// The section of a question and what is known of it.
  struct Asked {
    PartId part;
    const RowSection& section;
    std::span<const std::uint32_t> places;
    bool with_original_ids;
  };
  Asked asked(std::uint32_t question, std::size_t section) const;
  static Error corrupt(const Asked& of, const std::string& what);
  Result<std::vector<RowSectionView>> open_reply(std::uint32_t question,
                                                 const RowReply& reply) const;
  Status check_sizes(const Asked& of, const RowSectionView& reply) const;
  Status take_labels(const Asked& of, const RowSectionView& reply);
  void take_original_ids(const Asked& of, const RowSectionView& reply);
  void take_original_ids_from(const Asked& of, const Part& part);
  Status read_part(std::uint32_t question, const Part& part,
                   std::vector<std::vector<ComingRows>>& rows);
  Status check_table(const Asked& of, const PartNodes& nodes) const;
  void take_rows(std::uint32_t question, std::size_t section, const ComingRows& from,
                 std::vector<std::vector<ComingRows>>& rows) const;
  void place(std::size_t type, std::vector<ComingRows>& sources, bool last);
  void place_all(std::vector<std::vector<ComingRows>>& by_type, std::size_t answered_now);
  void close(std::uint32_t question) {
    answered[question] = true;
    --open;
  }
  void spread_labels();
};

}  // namespace troupe
