#include "runtime/data/npy_source.hpp"
#include "runtime/data/npy_values.hpp"
#include "runtime/data/table.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe::npy_source {
namespace {

using namespace graph_source;
using number_text::Missing;

IdRange row_offsets(const std::string& file, std::uint64_t begin, std::uint64_t count) {
  return {file, "an offset", begin, count, store_layout::largest_count, begin};
}

IdRange row_columns(const std::string& file, std::uint64_t begin, std::uint64_t count,
                    std::uint64_t end) {
  return {file, "a column", begin, count, end, begin};
}

/// Sparse rows on disk.
struct SparseArrays {
  SparseFiles files;
  NpyArray offsets;
  NpyArray columns;
  std::optional<NpyArray> values;
};

/// Makes sparse rows dense.
class RowFiller {
 public:
  RowFiller(const SparseArrays& arrays, std::uint64_t cols)
      : arrays_(arrays), cols_(cols), row_of_column_(cols, arrays.offsets.shape[0]) {}

  /// The rows [first, first + count).
  Status fill(std::uint64_t first, std::uint64_t count, std::vector<float>& dense) {
    TROUPE_ASSIGN_OR_RETURN(
        const auto ends,
        read_ids(arrays_.offsets, row_offsets(arrays_.files.offsets, first, count + 1)));
    dense.assign(count * cols_, 0.0F);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::span<float> row(dense.data() + i * cols_, cols_);
      for (auto at = ends[i]; at < ends[i + 1]; at += block_elements) {
        TROUPE_RETURN_IF_ERROR(
            fill_row(first + i, at, std::min(block_elements, ends[i + 1] - at), row));
      }
    }
    return ok_status();
  }

 private:
  Status fill_row(std::uint64_t row, std::uint64_t begin, std::uint64_t count,
                  std::span<float> out) {
    const auto& file = arrays_.files.columns;
    TROUPE_ASSIGN_OR_RETURN(const auto columns,
                            read_ids(arrays_.columns, row_columns(file, begin, count, cols_)));
    values_.assign(count, 1.0F);
    if (arrays_.values) {
      TROUPE_RETURN_IF_ERROR(npy_values::read_floats(
          *arrays_.values, {arrays_.files.values, 1, begin}, Missing::refused, values_));
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto column = columns[i];
      if (row_of_column_[column] == row) {
        return bad_input(
            file, fmt::format("row {}: expected each column once, got {} twice", row, column));
      }
      row_of_column_[column] = row;
      out[column] = values_[i];
    }
    return ok_status();
  }

  const SparseArrays& arrays_;
  std::uint64_t cols_;
  std::vector<std::uint64_t> row_of_column_;  ///< the last row that set the column
  std::vector<float> values_;
};

class SparseRows final : public FeatureRows {
 public:
  SparseRows(SparseArrays arrays, std::uint64_t cols) : arrays_(std::move(arrays)), cols_(cols) {}
  FeatureInfo info() const override {
    return {arrays_.values ? npy_values::feature_dtype(*arrays_.values) : DType::u8, cols_, 1.0F};
  }
  std::optional<std::uint64_t> rows() const override { return arrays_.offsets.shape[0] - 1; }
  const std::string& file() const override { return arrays_.files.offsets; }

  Status read(Executor&, const TakeFloats& take) const override {
    RowFiller filler(arrays_, cols_);
    std::vector<float> block;
    const auto rows_at_once = std::max<std::uint64_t>(1, block_elements / cols_);
    for (std::uint64_t row = 0; row < *rows(); row += rows_at_once) {
      TROUPE_RETURN_IF_ERROR(filler.fill(row, std::min(rows_at_once, *rows() - row), block));
      TROUPE_RETURN_IF_ERROR(take(block));
    }
    return ok_status();
  }

 private:
  SparseArrays arrays_;
  std::uint64_t cols_;
};

class OneHotRows final : public FeatureRows {
 public:
  OneHotRows(std::string name, std::uint64_t rows) : name_(std::move(name)), rows_(rows) {}
  FeatureInfo info() const override { return {DType::u8, rows_, 1.0F}; }
  std::optional<std::uint64_t> rows() const override { return rows_; }
  const std::string& file() const override { return name_; }

  Status read(Executor&, const TakeFloats& take) const override {
    std::vector<float> block;
    const auto rows_at_once = std::max<std::uint64_t>(1, block_elements / rows_);
    for (std::uint64_t row = 0; row < rows_; row += rows_at_once) {
      const auto count = std::min(rows_at_once, rows_ - row);
      block.assign(count * rows_, 0.0F);
      for (std::uint64_t i = 0; i < count; ++i) {
        block[i * rows_ + row + i] = 1.0F;
      }
      TROUPE_RETURN_IF_ERROR(take(block));
    }
    return ok_status();
  }

 private:
  std::string name_;
  std::uint64_t rows_;
};

Result<NpyArray> open_list(const Source& source, const std::string& file) {
  TROUPE_ASSIGN_OR_RETURN(auto array, source.read(file));
  if (array.shape.size() != 1) {
    return bad_input(file, fmt::format("expected one dimension, got {}", shape_text(array.shape)));
  }
  return array;
}

Status check_row_offsets(const NpyArray& offsets, const std::string& file, std::uint64_t indices) {
  const auto rows = offsets.shape[0];
  std::uint64_t wrong = rows;  // the first row that does not ascend
  std::uint64_t first = 1;
  std::uint64_t before = 0;
  TROUPE_RETURN_IF_ERROR(
      for_each_id_block(offsets, row_offsets(file, 0, rows),
                        [&](std::uint64_t row, std::span<const std::uint64_t> block) {
                          first = row == 0 ? block.front() : first;
                          for (std::size_t i = 0; i < block.size(); ++i) {
                            if (block[i] < before && wrong == rows) {
                              wrong = row + i;
                            }
                            before = block[i];
                          }
                          return ok_status();
                        }));
  if (wrong != rows || first != 0 || before != indices) {
    return bad_input(
        file,
        fmt::format("row {}: expected offsets that ascend from 0 to {}, the number of indices",
                    wrong, indices));
  }
  return ok_status();
}

Result<SparseArrays> open_arrays(const Source& source, SparseFiles files) {
  SparseArrays arrays;
  TROUPE_ASSIGN_OR_RETURN(arrays.offsets, open_list(source, files.offsets));
  TROUPE_ASSIGN_OR_RETURN(arrays.columns, open_list(source, files.columns));
  const auto indices = arrays.columns.shape[0];
  TROUPE_RETURN_IF_ERROR(check_row_offsets(arrays.offsets, files.offsets, indices));
  if (!files.values.empty()) {
    TROUPE_ASSIGN_OR_RETURN(auto values, source.read(files.values));
    if (values.shape.size() != 1 || values.shape[0] != indices) {
      return bad_input(files.values, fmt::format("expected shape [{}], one value per index, got {}",
                                                 indices, shape_text(values.shape)));
    }
    arrays.values = std::move(values);
  }
  arrays.files = std::move(files);
  return arrays;
}

Result<std::unique_ptr<FeatureRows>> open_dense(const Source& source) {
  const std::string file = "x.npy";
  TROUPE_ASSIGN_OR_RETURN(auto table, Table::open(source, {file}, TableFormat::npy));
  if (!table.matrix() || table.cols() == 0) {
    return bad_input(file, fmt::format("expected shape [nodes, features], got {}", table.shape()));
  }
  if (source.meta.num_features && *source.meta.num_features != table.cols()) {
    return bad_input(file, fmt::format("expected {} columns (num_features of meta.json), got {}",
                                       *source.meta.num_features, table.cols()));
  }
  return features_of(std::move(table));
}

}  // namespace

Result<std::unique_ptr<FeatureRows>> open_sparse(const Source& source, SparseFiles files,
                                                 std::optional<std::uint64_t> cols) {
  TROUPE_ASSIGN_OR_RETURN(auto arrays, open_arrays(source, std::move(files)));
  const auto& names = arrays.files;
  TROUPE_ASSIGN_OR_RETURN(
      const auto end,
      end_of_ids(arrays.columns, row_columns(names.columns, 0, arrays.columns.shape[0],
                                             cols.value_or(store_layout::largest_feature_cols))));
  const auto width = cols.value_or(end);
  if (width == 0) {
    return bad_input(names.columns, "expected at least one feature, got 0");
  }
  const auto rows = arrays.offsets.shape[0] - 1;
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(rows, width * sizeof(float), &size) ||
      size > store_layout::largest_count) {
    return bad_input(names.offsets, fmt::format("expected features that fit memory, got {} rows "
                                                "of {}",
                                                rows, width));
  }
  return std::unique_ptr<FeatureRows>(std::make_unique<SparseRows>(std::move(arrays), width));
}

Result<std::unique_ptr<FeatureRows>> one_hot(const std::string& name, std::uint64_t rows) {
  constexpr std::uint64_t most = 65536;
  if (rows == 0 || rows > most) {
    return bad_input(name, fmt::format("one-hot: expected 1 to {} nodes, got {}", most, rows));
  }
  return std::unique_ptr<FeatureRows>(std::make_unique<OneHotRows>(name, rows));
}

Result<std::unique_ptr<FeatureRows>> open_features(const Source& source) {
  const bool sparse = source.has("x_indptr.npy") || source.has("x_indices.npy");
  if (source.has("x.npy")) {
    if (sparse) {
      return bad_input("x.npy", "expected x.npy or x_indptr.npy, found both");
    }
    return open_dense(source);
  }
  if (!sparse) {
    return std::unique_ptr<FeatureRows>();
  }
  if (!source.has("x_indptr.npy") || !source.has("x_indices.npy")) {
    return Error(Errc::not_found,
                 fmt::format("{}: expected x_indptr.npy and x_indices.npy, found one of them",
                             source.dir.string()));
  }
  const std::string values = "x_data.npy";
  return open_sparse(source, {"x_indptr.npy", "x_indices.npy", source.has(values) ? values : ""},
                     source.meta.num_features);
}

}  // namespace troupe::npy_source
