#pragma once
/// \file input_rows.hpp
/// Rows of nodes as a model without layers compares them, and as the first layer of others reads them: from a
/// partitioned store and the files of learned rows beside a model.
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/run/table_source.hpp"

#include <cstdint>

namespace troupe {

struct InputRows {
  NodeTypeId type{};
  RowDecoder features;                  ///< Without columns: none are read
  std::uint64_t learned_cols = 0;       ///< 0: none are read
  const TableSource* tables = nullptr;  ///< \requires not null with learned columns
};

/// [nodes, features | learned], in the order of the nodes; learned rows are those of the best epoch, where the
/// tables have some.
/// \param nodes  of the type, each once
/// \errors data_corruption: rows of other columns or of no such node, a node without one; those of the
///   store and of the tables
Result<Matrix> input_rows(const PartitionedStore& store, const InputRows& rows,
                          const SeedList& nodes);

}  // namespace troupe
