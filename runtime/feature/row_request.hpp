#pragma once
/// \file row_request.hpp
/// Reading rows of a part: features, labels, original ids, or rows of a named tensor that the
/// holder keeps for the job.
#include "runtime/base/buffer.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/prefetch.hpp"
#include "runtime/base/prefetch_row.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/part.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Rows that are prefetched before the row that is copied or decoded.
inline constexpr std::size_t rows_ahead = 8;

/// Which table is read. Tensors are numbered by the job: tensor t holds the outputs of stage t-1
/// during exact inference.
struct RowSource {
  enum class Kind : std::uint8_t { features, tensor };
  Kind kind = Kind::features;
  std::uint32_t tensor = 0;
};

/// Nodes of one type whose rows are requested.
struct RowSection {
  NodeTypeId node_type{};
  bool with_rows = true;
  PooledVector<NodeId> nodes;     ///< order is kept; duplicates allowed
  std::uint64_t label_nodes = 0;  ///< labels are wanted for the first so many of `nodes`
  // For the charge of the answer; these do not travel.
  std::uint64_t row_bytes = 0;    ///< of one row, as the asker knows the table
  std::uint64_t label_bytes = 0;  ///< of one node's label or targets
};

/// Names a table of a part whose rows are read by place.
struct TableName {
  enum class Kind : std::uint8_t { edge_features = 0, node_column = 1, edge_column = 2 };
  Kind kind = Kind::edge_features;
  std::uint16_t type = 0;    ///< Node or edge type
  std::uint16_t column = 0;  ///< Place among the columns of the type
  friend auto operator<=>(const TableName&, const TableName&) = default;
};
std::string to_string(const TableName& name);

/// Rows of one table that are requested.
struct TableSection {
  TableName table;
  /// Entry numbers of edges, local indices of nodes; order is kept; duplicates allowed.
  std::vector<std::uint64_t> rows;
  // For the charge of the answer; does not travel.
  std::uint64_t row_bytes = 0;
};

/// Asks one holder for rows of nodes that its part owns, of one node type or several, and for rows of
/// tables.
struct RowRequest {
  RowSource source;
  bool with_original_ids = false;
  std::vector<RowSection> sections;       ///< in ascending order of node types
  std::vector<TableSection> tables = {};  ///< in ascending order of tables; none with tensors
  std::uint64_t flow = 0;                 ///< of the batch in the trace; 0: none

  /// Nodes of all sections.
  std::uint64_t num_nodes() const {
    std::uint64_t nodes = 0;
    for (const auto& section : sections) {
      nodes += section.nodes.size();
    }
    return nodes;
  }
};

/// One question to one part, as HopQuestion.
struct RowQuestion {
  std::uint32_t id = 0;
  PartId part{};
  RowRequest request;
};

/// Rows in the order of the request, in the stored dtype. All arrays hold section after section.
struct RowReply {
  struct Section {
    std::uint64_t nodes = 0;
    std::uint32_t row_bytes = 0;  ///< 0: without rows
    std::uint64_t labels = 0;     ///< label_nodes classes, if the type has them; else 0
    std::uint64_t targets = 0;    ///< label_nodes x columns numbers, if the type has them; else 0
  };
  struct Table {
    std::uint64_t rows = 0;
    std::uint32_t row_bytes = 0;
  };
  std::vector<Section> sections;
  std::vector<Table> tables = {};
  Segment rows;  ///< of sections, then of tables; each begins at a multiple of 8 bytes
  PooledVector<OriginalId> original_ids;  ///< of all nodes, if asked for
  PooledVector<std::int64_t> labels;
  PooledVector<float> targets;
};

/// One section of a reply. Borrowed.
struct RowSectionView {
  std::span<const std::byte> rows;  ///< [nodes, row_bytes]
  std::uint32_t row_bytes = 0;
  std::span<const OriginalId> original_ids;  ///< [nodes], or empty
  std::span<const std::int64_t> labels;
  std::span<const float> targets;  ///< [label nodes, columns]
};

/// Rows of one table of a reply. Borrowed.
struct TableRows {
  std::span<const std::byte> rows;  ///< [rows, row_bytes]
  std::uint32_t row_bytes = 0;
};

/// \errors data_corruption: sizes that do not agree with each other (named)
Result<std::vector<RowSectionView>> sections_of(const RowReply& reply);
/// The same errors.
Result<std::vector<TableRows>> tables_of(const RowReply& reply);
/// The same errors.
Status check_sections(const RowReply& reply);

/// A reply whose rows are still to be written.
class OpenRowReply {
 public:
  /// \param row_bytes        [sections]; 0: without rows
  /// \param table_row_bytes  [tables]; empty: the request has none
  OpenRowReply(const RowRequest& request, std::span<const std::uint64_t> row_bytes,
               std::span<const std::uint64_t> table_row_bytes = {});
  /// Where the rows of a section go: [nodes, row_bytes].
  std::span<std::byte> rows(std::size_t section) const;
  /// Where those of a table go.
  std::span<std::byte> table(std::size_t table) const;
  RowReply close() &&;

  RowReply reply;  ///< All but the rows

 private:
  struct Place {
    std::uint64_t begin;
    std::uint64_t bytes;
  };
  std::span<std::byte> at(const Place& place) const;
  Buffer buffer_;
  std::vector<Place> places_;  ///< [sections, then tables]
};

/// Finds a table of a part, and that it has all the rows of a section.
/// \returns not null; of the part
/// \errors invalid_argument: no such table, no such row (with the values)
Result<const FeatureTable*> find_table(const Part& part, const TableSection& section);

/// Reads features, original ids and labels of a part, and rows of its tables.
/// \errors invalid_argument: a node the part does not own, no features, no such node type (with the
///   values); those of find_table()
Result<RowReply> read_part_rows(const Part& part, const RowRequest& request);
/// Reads labels of a part. The caller reads features and original ids where they lie.
/// \errors the same
Result<RowReply> read_part_labels(const Part& part, const RowRequest& request);

/// Calls `put(position, original id)` for each of `wanted`, ids ahead of it being prefetched.
/// \requires `nodes` owns them
template <class Put>
void each_original_id(const PartNodes& nodes, std::span<const NodeId> wanted, Put put) {
  constexpr std::size_t ids_ahead = 32;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (i + ids_ahead < wanted.size()) {
      prefetch(&nodes.original_ids[nodes.local(wanted[i + ids_ahead])]);
    }
    put(i, static_cast<OriginalId>(nodes.original_ids[nodes.local(wanted[i])]));
  }
}

}  // namespace troupe
