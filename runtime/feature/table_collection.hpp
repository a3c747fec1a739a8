#pragma once
/// \file table_collection.hpp
/// Rows of tables for a batch, of edges by entry number, of nodes by local index: which to ask which part for, and where they
/// go. For row_collection.cpp only.
#include "runtime/base/buffer.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/partition/partition_book.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Lifecycle: construct; put what sections_for() gives into the request of each part; place its rows
/// Threads:   one at a time
/// Borrows:   `options`
class TableCollection {
 public:
  /// Makes room in the batch, and groups the rows that are wanted by the part that has them: the owner
  /// of the node, or of that in whose list an edge lies.
  TableCollection(const PartitionBook& book, const CollectOptions& options, Batch& batch);

  /// What to ask a part for; moves it out.
  std::vector<TableSection> sections_for(PartId part);
  /// Puts the rows of a reply in their places.
  /// \param sections  those of sections_for(part)
  /// \errors data_corruption: tables or sizes that do not fit the sections
  Status place(PartId part, std::span<const TableSection> sections, const RowReply& reply,
               Batch& batch) const;
  /// Puts rows of a part here in their places.
  /// \errors those of find_table(); data_corruption: rows of another size than the decoder's
  Status place_from(const Part& part, std::span<const TableSection> sections, Batch& batch) const;

 private:
  /// Where the rows of a section go.
  struct Target {
    std::size_t column = 0;                  ///< Of the batch; not of features
    std::vector<std::uint32_t> places = {};  ///< [rows]
  };
  struct Asked {
    std::vector<TableSection> sections = {};
    std::vector<Target> targets = {};  ///< [sections]
  };
  /// What is wanted of a table.
  struct Wanted {
    TableName table;
    std::size_t column = 0;
    std::uint64_t row_bytes = 0;
  };
  void add_edges(const PartitionBook& book, const SampledBatch& sampled, const Wanted& wanted);
  void add_nodes(const PartitionBook& book, const SampledBatch& sampled, const Wanted& wanted);
  void add(PartId part, const Wanted& wanted, std::uint64_t row, std::uint32_t place);
  void make_column(const WantedColumn& wanted, Batch& batch);
  void put(const TableSection& section, const Target& target, std::size_t i,
           std::span<const std::byte> row, Batch& batch) const;
  Status check_size(PartId part, const TableSection& section, std::uint64_t row_bytes) const;

  const CollectOptions& options_;
  std::vector<Asked> asked_;     ///< [parts]
  std::vector<Buffer> columns_;  ///< Of the batch, under way
};

}  // namespace troupe
