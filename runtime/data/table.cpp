#include "runtime/data/table.hpp"

#include "runtime/data/npy_values.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace troupe {

using namespace graph_source;
using npy_source::bad_input;
using npy_source::block_elements;
using number_text::Missing;

namespace {

/// The ids of whole rows from `row` on lie below the ends of their columns.
Status check_ids(const std::string& file, std::uint64_t row, const std::vector<std::uint64_t>& ends,
                 std::span<const std::int64_t> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto end = ends[i % ends.size()];
    if (ids[i] < 0 || static_cast<std::uint64_t>(ids[i]) >= end) {
      return bad_input(file, fmt::format("row {}: expected a node id below {}, got {}",
                                         row + i / ends.size(), end, ids[i]));
    }
  }
  return ok_status();
}

class TableFeatures final : public FeatureRows {
 public:
  TableFeatures(Table table, DType dtype)
      : table_(std::move(table)), info_{dtype, table_.cols(), 1.0F} {}
  FeatureInfo info() const override { return info_; }
  std::optional<std::uint64_t> rows() const override { return table_.rows(); }
  const std::string& file() const override { return table_.file(); }
  Status read(Executor& executor, const TakeFloats& take) const override {
    return table_.read_floats(executor, Missing::refused, take);
  }

 private:
  Table table_;
  FeatureInfo info_;
};

class TableClasses final : public LabelRows {
 public:
  TableClasses(Table table, std::uint64_t classes) : table_(std::move(table)), classes_(classes) {}
  LabelInfo info() const override { return {LabelInfo::Kind::classes, classes_}; }
  std::optional<std::uint64_t> rows() const override { return table_.rows(); }
  const std::string& file() const override { return table_.file(); }
  Status read(Executor& executor, const TakeIntegers& take_classes,
              const TakeFloats&) const override {
    return table_.read_integers(executor, {}, take_classes);
  }

 private:
  Table table_;
  std::uint64_t classes_;
};

class TableTargets final : public LabelRows {
 public:
  explicit TableTargets(Table table) : table_(std::move(table)) {}
  LabelInfo info() const override { return {LabelInfo::Kind::targets, table_.cols()}; }
  std::optional<std::uint64_t> rows() const override { return table_.rows(); }
  const std::string& file() const override { return table_.file(); }
  Status read(Executor& executor, const TakeIntegers&,
              const TakeFloats& take_targets) const override {
    constexpr float unknown = std::numeric_limits<float>::quiet_NaN();  // one NaN: digests need it
    std::uint64_t done = 0;
    std::vector<float> targets;
    return table_.read_floats(
        executor, Missing::is_nan, [&](std::span<const float> values) -> Status {
          targets.clear();
          for (std::size_t i = 0; i < values.size(); ++i) {
            const float value = values[i];
            if (!(value == 0 || value == 1 || value == -1 || std::isnan(value))) {
              return bad_input(
                  file(),
                  fmt::format("row {}, column {}: expected a target 0 or 1, or -1 or "
                              "NaN where it is unknown, got {}{}",
                              (done + i) / table_.cols(), (done + i) % table_.cols(), value,
                              table_.cols() == 1 ? "\ntry: shape [nodes] for classes" : ""));
            }
            targets.push_back(value == 1 ? 1.0F : value == 0 ? 0.0F : unknown);
          }
          done += values.size();
          return take_targets(targets);
        });
  }

 private:
  Table table_;
};

class TableNumbers final : public LabelRows {
 public:
  explicit TableNumbers(Table table) : table_(std::move(table)) {}
  LabelInfo info() const override { return {LabelInfo::Kind::numbers, table_.cols()}; }
  std::optional<std::uint64_t> rows() const override { return table_.rows(); }
  const std::string& file() const override { return table_.file(); }
  Status read(Executor& executor, const TakeIntegers&,
              const TakeFloats& take_targets) const override {
    constexpr float unknown = std::numeric_limits<float>::quiet_NaN();  // one NaN: digests need it
    std::vector<float> numbers;
    return table_.read_floats(
        executor, Missing::is_nan, [&](std::span<const float> values) -> Status {
          numbers.assign(values.begin(), values.end());
          std::ranges::replace_if(
              numbers, [](float value) { return std::isnan(value); }, unknown);
          return take_targets(numbers);
        });
  }

 private:
  Table table_;
};

class TableEdgeValues final : public EdgeValues {
 public:
  explicit TableEdgeValues(Table table) : table_(std::move(table)) {}
  const std::string& file() const override { return table_.file(); }
  Status read_weights(Executor& executor, const TakeFloats& take) const override {
    std::uint64_t done = 0;
    return table_.read_floats(
        executor, Missing::refused, [&](std::span<const float> weights) -> Status {
          const auto bad = std::ranges::find_if(weights, [](float weight) { return weight < 0; });
          if (bad != weights.end()) {
            return bad_input(
                file(),
                fmt::format("row {}: expected a weight of 0 or more, got {}",
                            done + static_cast<std::uint64_t>(bad - weights.begin()), *bad));
          }
          done += weights.size();
          return take(weights);
        });
  }
  Status read_times(Executor& executor, const TakeIntegers& take) const override {
    return table_.read_integers(executor, {}, take);
  }

 private:
  Table table_;
};

/// Checks all classes. \returns their number
Result<std::uint64_t> count_classes(const Table& table, std::optional<std::uint64_t> classes,
                                    Executor& executor) {
  const auto end = static_cast<std::int64_t>(classes.value_or(store_layout::largest_cols));
  std::int64_t largest = -1;
  std::uint64_t row = 0;
  TROUPE_RETURN_IF_ERROR(
      table.read_integers(executor, {}, [&](std::span<const std::int64_t> labels) -> Status {
        for (const auto label : labels) {
          if (label < -1 || label >= end) {
            return bad_input(table.file(),
                             fmt::format("row {}: expected a label from -1 (none) to {}, got {}",
                                         row, end - 1, label));
          }
          largest = std::max(largest, label);
          ++row;
        }
        return ok_status();
      }));
  return classes.value_or(static_cast<std::uint64_t>(largest + 1));
}

}  // namespace

Result<Table> Table::open(const npy_source::Source& source, const std::vector<std::string>& files,
                          TableFormat format) {
  TROUPE_ASSERT(!files.empty(), "a table needs files");
  Table table;
  table.format_ = format;
  for (const auto& file : files) {
    TROUPE_RETURN_IF_ERROR(table.add(source, file));
  }
  return table;
}

Result<Table> Table::of_array(std::string name, ArraySource array) {
  Table table;
  TROUPE_RETURN_IF_ERROR(table.add_array({std::move(name), {}, std::move(array)}));
  return table;
}

Status Table::add(const npy_source::Source& source, const std::string& file) {
  Piece piece{file, source.dir / file, {}};
  if (format_ == TableFormat::npy) {
    TROUPE_ASSIGN_OR_RETURN(auto array, source.read(file));
    piece.array.emplace(std::move(array));
    return add_array(std::move(piece));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto cols, number_text::count_columns(piece.path));
  if (!pieces_.empty() && cols == 0) {
    return ok_status();  // a further file without rows
  }
  if (!pieces_.empty() && cols_ == 0) {
    pieces_.clear();  // a first file without rows
  }
  return add_piece(std::move(piece), cols, cols != 1);
}

Status Table::add_array(Piece piece) {
  const auto& shape = piece.array->shape();
  if (shape.empty() || shape.size() > 2) {
    return bad_input(piece.file, fmt::format("expected shape [rows] or [rows, columns], got {}",
                                             shape_text(shape)));
  }
  const bool matrix = shape.size() == 2;
  const auto cols = matrix ? shape[1] : 1;
  return add_piece(std::move(piece), cols, matrix);
}

Status Table::add_piece(Piece piece, std::uint64_t cols, bool matrix) {
  if (!pieces_.empty() && (cols != cols_ || matrix != matrix_)) {
    return bad_input(piece.file, fmt::format("expected {} columns, as {} has, got {}", cols_,
                                             pieces_.front().file, cols));
  }
  cols_ = cols;
  matrix_ = matrix;
  pieces_.push_back(std::move(piece));
  return ok_status();
}

bool Table::as_list() {
  matrix_ = matrix_ && cols_ != 1;
  return !matrix_;
}

std::optional<std::uint64_t> Table::rows() const {
  std::uint64_t rows = 0;
  for (const auto& piece : pieces_) {
    if (!piece.array) {
      return std::nullopt;
    }
    rows += piece.array->shape().front();
  }
  return rows;
}

bool Table::integers() const {
  return std::ranges::all_of(pieces_, [](const Piece& piece) {
    return piece.array && (piece.array->type().kind == 'i' || piece.array->type().kind == 'u');
  });
}

Result<DType> Table::feature_dtype() const {
  if (format_ == TableFormat::text) {
    return DType::f32;
  }
  std::optional<DType> all;
  for (const auto& piece : pieces_) {
    auto dtype = DType::u8;
    if (piece.array->type().kind == 'f') {
      dtype = piece.array->type().bytes == 2 ? DType::f16 : DType::f32;
    } else {
      TROUPE_RETURN_IF_ERROR(
          for_each_block(*piece.array, [&](const NpyArray& block, std::uint64_t) -> Status {
            dtype = dtype == DType::u8 ? npy_values::feature_dtype(block) : dtype;
            return ok_status();
          }));
    }
    all = all.value_or(dtype) == dtype ? dtype : DType::f32;
  }
  return *all;
}

std::string Table::shape() const {
  const auto& array = pieces_.front().array;
  return array ? shape_text(array->shape()) : fmt::format("{} columns", cols_);
}

std::string Table::dtype() const {
  const auto& array = pieces_.front().array;
  return array ? to_string(array->type()) : "text";
}

/// Calls `read(block, first element)` for some rows after the others.
template <class Read>
Status Table::for_each_block(const ArraySource& array, const Read& read) const {
  const auto rows_at_once = std::max<std::uint64_t>(1, block_elements / std::max(cols_, 1UL));
  const auto size = array.size();
  TROUPE_ASSIGN_OR_RETURN(auto cursor, array.cursor());
  for (std::uint64_t first = 0; first < size; first += rows_at_once * cols_) {
    TROUPE_ASSIGN_OR_RETURN(const auto block,
                            cursor.next(std::min(rows_at_once * cols_, size - first)));
    TROUPE_RETURN_IF_ERROR(read(block, first));
  }
  return cursor.finish();
}

Status Table::read_floats(Executor& executor, Missing missing, const TakeFloats& take) const {
  std::vector<float> values;
  for (const auto& piece : pieces_) {
    if (!piece.array) {
      TROUPE_RETURN_IF_ERROR(number_text::read_floats(
          piece.path, {.cols = cols_, .missing = missing}, executor, take));
      continue;
    }
    const auto read = [&](const NpyArray& block, std::uint64_t first) -> Status {
      values.resize(block.size());
      TROUPE_RETURN_IF_ERROR(
          npy_values::read_floats(block, {piece.file, cols_, first, first}, missing, values));
      return take(values);
    };
    TROUPE_RETURN_IF_ERROR(for_each_block(*piece.array, read));
  }
  return ok_status();
}

Status Table::read_integers(Executor& executor, const std::vector<std::uint64_t>& ends,
                            const TakeIntegers& take) const {
  std::vector<std::int64_t> values;
  for (const auto& piece : pieces_) {
    if (!piece.array) {
      TROUPE_RETURN_IF_ERROR(
          number_text::read_integers(piece.path, {.cols = cols_, .ends = ends}, executor, take));
      continue;
    }
    if (!ends.empty() && piece.array->type().kind == 'b') {
      return bad_input(piece.file,
                       "expected ids, got dtype bool\ntry: numpy.flatnonzero of a mask of nodes");
    }
    const auto read = [&](const NpyArray& block, std::uint64_t first) -> Status {
      values.resize(block.size());
      TROUPE_RETURN_IF_ERROR(
          npy_values::read_integers(block, {piece.file, cols_, first, first}, values));
      if (!ends.empty()) {
        TROUPE_RETURN_IF_ERROR(check_ids(piece.file, first / cols_, ends, values));
      }
      return take(values);
    };
    TROUPE_RETURN_IF_ERROR(for_each_block(*piece.array, read));
  }
  return ok_status();
}

Status Table::read_text(Executor& executor, DType dtype, const TakeBytes& take) const {
  TROUPE_ASSERT(format_ == TableFormat::text, "arrays are no text");
  for (const auto& piece : pieces_) {
    TROUPE_RETURN_IF_ERROR(
        number_text::read_values(piece.path, {.cols = cols_}, dtype, executor, take));
  }
  return ok_status();
}

Result<std::unique_ptr<FeatureRows>> features_of(Table table) {
  if (table.cols() == 0 || table.cols() > store_layout::largest_feature_cols) {
    return bad_input(table.file(), fmt::format("expected 1 to {} features per row, got {}",
                                               store_layout::largest_feature_cols, table.shape()));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto dtype, table.feature_dtype());
  return std::unique_ptr<FeatureRows>(std::make_unique<TableFeatures>(std::move(table), dtype));
}

Result<std::unique_ptr<LabelRows>> labels_of(Table table, std::optional<std::uint64_t> classes,
                                             Executor& executor) {
  const bool text = table.format() == TableFormat::text;
  if (!table.matrix() && (text || table.integers())) {
    TROUPE_ASSIGN_OR_RETURN(const auto count, count_classes(table, classes, executor));
    return std::unique_ptr<LabelRows>(std::make_unique<TableClasses>(std::move(table), count));
  }
  if (!table.matrix()) {
    return bad_input(
        table.file(),
        fmt::format("expected integers [nodes] or targets [nodes, labels], got {} {}\n"
                    "try: integers for classes, shape [nodes, 1] for targets, or, of --from npy, "
                    "\"labels\": \"numbers\" in meta.json for numbers to predict",
                    table.dtype(), table.shape()));
  }
  if (table.cols() == 0 || table.cols() > store_layout::largest_cols) {
    return bad_input(table.file(), fmt::format("expected 1 to {} targets per node, got {}",
                                               store_layout::largest_cols, table.shape()));
  }
  return std::unique_ptr<LabelRows>(std::make_unique<TableTargets>(std::move(table)));
}

Result<std::unique_ptr<LabelRows>> numbers_of(Table table) {
  if (table.cols() == 0 || table.cols() > store_layout::largest_cols) {
    return bad_input(table.file(), fmt::format("expected 1 to {} numbers per node, got {}",
                                               store_layout::largest_cols, table.shape()));
  }
  return std::unique_ptr<LabelRows>(std::make_unique<TableNumbers>(std::move(table)));
}

Result<std::unique_ptr<EdgeValues>> edge_values_of(Table table) {
  const bool text_without_rows = table.format() == TableFormat::text && table.cols() == 0;
  if (table.cols() != 1 && !text_without_rows) {
    return bad_input(table.file(),
                     fmt::format("expected one number per edge, got {}", table.shape()));
  }
  return std::unique_ptr<EdgeValues>(std::make_unique<TableEdgeValues>(std::move(table)));
}

Result<std::vector<std::uint64_t>> ids_of(const Table& table, std::uint64_t end,
                                          Executor& executor) {
  if (table.cols() > 1) {
    return bad_input(table.file(), fmt::format("expected one id per row, got {}", table.shape()));
  }
  std::vector<std::uint64_t> ids;
  TROUPE_RETURN_IF_ERROR(
      table.read_integers(executor, {end}, [&](std::span<const std::int64_t> some) {
        for (const auto id : some) {
          ids.push_back(static_cast<std::uint64_t>(id));
        }
        return ok_status();
      }));
  return ids;
}

}  // namespace troupe
