#include "runtime/data/column_rows.hpp"

#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace troupe {
namespace {

using graph_source::ColumnRows;
using npy_source::bad_input;

constexpr std::size_t column_block_bytes = std::size_t{1} << 22;

class ArrayColumn final : public ColumnRows {
 public:
  ArrayColumn(ColumnInfo info, std::vector<ColumnPiece> pieces)
      : info_(std::move(info)), pieces_(std::move(pieces)) {}
  const ColumnInfo& info() const override { return info_; }
  const std::string& file() const override { return pieces_.front().file; }
  std::optional<std::uint64_t> rows() const override {
    std::uint64_t rows = 0;
    for (const auto& piece : pieces_) {
      rows += piece.array.shape().front();
    }
    return rows;
  }
  Status read(Executor& /*executor*/, const TakeBytes& take) const override {
    const auto block = std::max<std::uint64_t>(1, column_block_bytes / info_.row_bytes());
    for (const auto& piece : pieces_) {
      TROUPE_ASSIGN_OR_RETURN(auto cursor, piece.array.cursor());
      const auto rows = piece.array.shape().front();
      for (std::uint64_t first = 0; first < rows; first += block) {
        const auto taken = std::min(block, rows - first);
        TROUPE_ASSIGN_OR_RETURN(const auto some, cursor.next(taken * info_.row_values()));
        TROUPE_RETURN_IF_ERROR(take(some.data.bytes));
      }
      TROUPE_RETURN_IF_ERROR(cursor.finish());
    }
    return ok_status();
  }

 private:
  ColumnInfo info_;
  std::vector<ColumnPiece> pieces_;
};

class TextColumn final : public ColumnRows {
 public:
  TextColumn(ColumnInfo info, Table table) : info_(std::move(info)), table_(std::move(table)) {}
  const ColumnInfo& info() const override { return info_; }
  const std::string& file() const override { return table_.file(); }
  std::optional<std::uint64_t> rows() const override { return std::nullopt; }
  Status read(Executor& executor, const TakeBytes& take) const override {
    return table_.read_text(executor, info_.dtype, take);
  }

 private:
  ColumnInfo info_;
  Table table_;
};

Result<DType> dtype_of(const NamedColumn& column, const ColumnPiece& piece,
                       std::string_view bf16_hint) {
  const auto type = piece.array.type();
  if (column.dtype) {
    if (type == npy_type(*column.dtype)) {
      return *column.dtype;
    }
    return bad_input(piece.file,
                     *column.dtype == DType::bf16
                         ? fmt::format("expected an array of u16 for bf16, got {}", to_string(type))
                         : fmt::format("expected an array of {} for {}, got {}",
                                       to_string(npy_type(*column.dtype)), to_string(*column.dtype),
                                       to_string(type)));
  }
  constexpr std::array dtypes{DType::u8,  DType::f16, DType::f32,
                              DType::f64, DType::i32, DType::i64};
  const auto* found = std::ranges::find(dtypes, type, npy_type);
  if (found == dtypes.end()) {
    return bad_input(piece.file,
                     fmt::format("expected an array of uint8, float16, float32, float64, int32 or "
                                 "int64, got {}\ntry: {} for bfloat16 as uint16",
                                 to_string(type), bf16_hint));
  }
  return *found;
}

Status check_shape(const ColumnInfo& info, const std::string& file, const std::string& shape) {
  const auto fault = store_layout::fault_of(info);
  return fault.empty() ? ok_status()
                       : Status(bad_input(file, fmt::format("expected {}, got \"{}\" of shape {}",
                                                            fault, info.name, shape)));
}

}  // namespace

Result<std::unique_ptr<ColumnRows>> column_of_arrays(const NamedColumn& column,
                                                     std::vector<ColumnPiece> pieces,
                                                     std::string_view bf16_hint) {
  TROUPE_ASSERT(!pieces.empty(), "a column needs arrays");
  ColumnInfo info{column.name};
  const auto& first = pieces.front();
  TROUPE_ASSIGN_OR_RETURN(info.dtype, dtype_of(column, first, bf16_hint));
  for (const auto& piece : pieces) {
    const auto& shape = piece.array.shape();
    if (shape.empty()) {
      return bad_input(piece.file, "expected an array with rows, got a single value");
    }
    if (&piece == &first) {
      info.shape.assign(shape.begin() + 1, shape.end());
      TROUPE_RETURN_IF_ERROR(check_shape(info, piece.file, shape_text(shape)));
    } else if (piece.array.type() != first.array.type() ||
               !std::equal(shape.begin() + 1, shape.end(), info.shape.begin(), info.shape.end())) {
      return bad_input(
          piece.file,
          fmt::format("expected rows of {} of shape {}, as {} has, got {} of shape {}",
                      to_string(first.array.type()), shape_text(info.shape), first.file,
                      to_string(piece.array.type()), shape_text(std::span(shape).subspan(1))));
    }
  }
  return std::unique_ptr<ColumnRows>(
      std::make_unique<ArrayColumn>(std::move(info), std::move(pieces)));
}

Result<std::unique_ptr<ColumnRows>> column_of_text(const NamedColumn& column, Table table) {
  ColumnInfo info{column.name, column.dtype.value_or(DType::f32)};
  if (table.cols() > 1) {
    info.shape = {table.cols()};
  }
  TROUPE_RETURN_IF_ERROR(check_shape(info, table.file(), table.shape()));
  return std::unique_ptr<ColumnRows>(
      std::make_unique<TextColumn>(std::move(info), std::move(table)));
}

Result<std::unique_ptr<ColumnRows>> column_of_files(const NamedColumn& column,
                                                    const npy_source::Source& source,
                                                    const std::vector<std::string>& files,
                                                    TableFormat format) {
  if (format == TableFormat::text) {
    TROUPE_ASSIGN_OR_RETURN(auto table, Table::open(source, files, format));
    return column_of_text(column, std::move(table));
  }
  std::vector<ColumnPiece> pieces;
  for (const auto& file : files) {
    TROUPE_ASSIGN_OR_RETURN(auto array, source.read(file));
    pieces.push_back({file, ArraySource(std::move(array))});
  }
  return column_of_arrays(column, std::move(pieces), named_bf16_hint);
}

}  // namespace troupe
