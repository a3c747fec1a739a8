#pragma once
/// \file table.hpp
/// Numbers in rows that lie in one or more files, .npy or text, or in an archive's array, as one
/// table. Importers make rows of features, labels and edges of it.
#include "runtime/data/array_source.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/data/npy_source.hpp"
#include "runtime/data/number_text.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

enum class TableFormat : std::uint8_t { npy, text };

/// Threads: reading by one thread at a time
class Table {
 public:
  /// Opens the files; .npy arrays are mapped and have one or two dimensions, text has as many
  /// columns as its first line. Files of text without rows are left out where others have rows.
  /// \param files  relative to `source`, at least one
  /// \errors invalid_argument: a shape that does not fit; those of opening and mapping
  static Result<Table> open(const npy_source::Source& source, const std::vector<std::string>& files,
                            TableFormat format);
  /// The rows of one array.
  /// \param name  for messages
  /// \errors invalid_argument: not one or two dimensions
  static Result<Table> of_array(std::string name, ArraySource array);

  TableFormat format() const { return format_; }
  std::uint64_t cols() const { return cols_; }
  /// Whether its files say that there are columns: not so for arrays of one dimension.
  bool matrix() const { return matrix_; }
  std::optional<std::uint64_t> rows() const;  ///< nothing for text
  bool integers() const;                      ///< by the dtypes; false for text
  /// The dtype that holds the numbers; f32 for text. Integers are read for it.
  Result<DType> feature_dtype() const;
  /// Whether rows are numbers without columns, or with one that counts as none from now on.
  bool as_list();
  const std::string& file() const { return pieces_.front().file; }
  /// Dtype of the first file, for messages.
  std::string dtype() const;
  /// Shape or columns, for messages.
  std::string shape() const;

  /// Hands out all rows in order.
  Status read_floats(Executor& executor, number_text::Missing missing,
                     const graph_source::TakeFloats& take) const;
  /// \param ends  as number_text::Format::ends
  Status read_integers(Executor& executor, const std::vector<std::uint64_t>& ends,
                       const graph_source::TakeIntegers& take) const;
  /// The same of text, as bytes of values of a column's dtype.
  /// \requires format() is text
  Status read_text(Executor& executor, DType dtype, const TakeBytes& take) const;

 private:
  struct Piece {
    std::string file;
    std::filesystem::path path;
    std::optional<ArraySource> array;
  };
  Status add(const npy_source::Source& source, const std::string& file);
  Status add_array(Piece piece);
  Status add_piece(Piece piece, std::uint64_t cols, bool matrix);
  template <class Read>
  Status for_each_block(const ArraySource& array, const Read& read) const;

  TableFormat format_ = TableFormat::npy;
  std::uint64_t cols_ = 0;
  bool matrix_ = false;
  std::vector<Piece> pieces_;
};

/// All rows as features. \errors invalid_argument: no columns, or too many
Result<std::unique_ptr<graph_source::FeatureRows>> features_of(Table table);
/// All rows as classes (integers without columns; text with one) or as targets.
/// \param classes  their number, if known; else the largest + 1, for which all are read
Result<std::unique_ptr<graph_source::LabelRows>> labels_of(Table table,
                                                           std::optional<std::uint64_t> classes,
                                                           Executor& executor);
/// All rows as numbers to predict, NaN where unknown. \errors invalid_argument: no columns, or too many
Result<std::unique_ptr<graph_source::LabelRows>> numbers_of(Table table);
/// All rows, of one column, as classes: integers, or floats that are integers, where NaN is
/// unlabelled like -1.
Result<std::unique_ptr<graph_source::LabelRows>> classes_of(Table table, Executor& executor);
/// All rows as one number per edge. \errors invalid_argument: more columns than one
Result<std::unique_ptr<graph_source::EdgeValues>> edge_values_of(Table table);
/// All rows as ids below `end`, which must have one column.
Result<std::vector<std::uint64_t>> ids_of(const Table& table, std::uint64_t end,
                                          Executor& executor);

}  // namespace troupe
