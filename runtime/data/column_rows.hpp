#pragma once
/// \file column_rows.hpp
/// Rows of named columns from arrays, which are stored as they are, and from text.
#include "runtime/base/result.hpp"
#include "runtime/data/array_source.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/data/named_columns.hpp"
#include "runtime/data/npy_source.hpp"
#include "runtime/data/table.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// One of the arrays that follow each other in a column.
struct ColumnPiece {
  std::string file;  ///< For messages
  ArraySource array;
};

/// The rows of arrays of one dtype and row shape. uint16 is bfloat16 where the column's dtype says so.
/// \param pieces      at least one
/// \param bf16_hint   says how users ask for that, for messages
/// \errors invalid_argument: a dtype that no column has or that is not the one stated, no rows, rows
///   of a shape that cannot be, arrays that differ
Result<std::unique_ptr<graph_source::ColumnRows>> column_of_arrays(const NamedColumn& column,
                                                                   std::vector<ColumnPiece> pieces,
                                                                   std::string_view bf16_hint);
/// How users of --named-columns ask for bfloat16.
inline constexpr std::string_view named_bf16_hint = "--named-columns NAME:bf16";

/// The rows of a table of text, f32 unless the column's dtype is stated.
Result<std::unique_ptr<graph_source::ColumnRows>> column_of_text(const NamedColumn& column,
                                                                 Table table);
/// The rows of files of a source, which follow each other.
/// \param files  relative to `source`, at least one
Result<std::unique_ptr<graph_source::ColumnRows>> column_of_files(
    const NamedColumn& column, const npy_source::Source& source,
    const std::vector<std::string>& files, TableFormat format);

}  // namespace troupe
