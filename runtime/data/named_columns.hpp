#pragma once
/// \file named_columns.hpp
/// Arrays and fields of text that the user names to be kept as named columns: the options that say
/// so, and the arrays that are found. The rows themselves are in column_rows.hpp.
#include "runtime/base/result.hpp"
#include "runtime/data/graph_source.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// An array that becomes a column of each node and edge type that has it.
struct NamedColumn {
  std::string name;
  /// Not stated: as the array has it; f32 for text.
  std::optional<DType> dtype{};
};

/// A field of each line of text that becomes a column of edges.
struct LineColumn {
  std::string name;
  std::uint32_t field = 0;  ///< Counted from 0
  DType dtype = DType::f32;
};

/// Reads NAME or NAME:DTYPE. \errors invalid_argument: a name or dtype of no column, a name twice
Result<std::vector<NamedColumn>> parse_named_columns(std::span<const std::string> texts);
/// Reads NAME=FIELD or NAME=FIELD:DTYPE. \errors as parse_named_columns(); a field that is no number
Result<std::vector<LineColumn>> parse_line_columns(std::span<const std::string> texts);

}  // namespace troupe

namespace troupe::graph_source {

/// Gives node and edge types the columns that the user named.
/// Lifecycle: wants() for every array of nodes and edges, take() for those that it wants;
///   check_found() at the end
class NamedColumns {
 public:
  using Columns = std::vector<std::unique_ptr<ColumnRows>>;
  using Open = std::function<Result<std::unique_ptr<ColumnRows>>(const NamedColumn&)>;

  explicit NamedColumns(std::vector<NamedColumn> names) : names_(std::move(names)) {}
  /// Whether an array of this name becomes a column.
  bool wants(const std::string& array);
  /// Makes an array that is wanted one of `columns`.
  /// \param type  node or edge type, for messages
  /// \errors invalid_argument: a second array of the name; those of `open`
  Status take(const std::string& array, std::string_view type, Columns& columns,
              const Open& open) const;
  /// \param place  where arrays are listed, for messages
  /// \errors not_found: no type has an array of a name
  Status check_found(std::string_view place) const;

 private:
  std::vector<NamedColumn> names_;
  std::set<std::string> arrays_;  ///< Names that wants() was asked about
};

}  // namespace troupe::graph_source
