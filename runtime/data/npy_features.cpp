#include "runtime/data/npy_source.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <type_traits>

namespace troupe::npy_source {
namespace {

/// Integers up to this are exact in float32.
constexpr std::int64_t largest_exact = std::int64_t{1} << 24;

std::string at_row(std::uint64_t i, std::uint64_t cols) {
  return fmt::format("row {}, column {}", i / cols, i % cols);
}

template <class T>
bool fits_u8(std::span<const T> values) {
  return std::ranges::all_of(values, [](T value) { return std::in_range<std::uint8_t>(value); });
}

/// Numbers ready to be stored: u8, f16 or f32.
struct Values {
  DType dtype = DType::f32;
  Segment data;
};

template <class T>
Result<Values> convert_integers(std::span<const T> values, const std::string& file,
                                std::uint64_t cols) {
  if (fits_u8(values)) {
    std::vector<std::uint8_t> narrow(values.size());
    std::ranges::transform(values, narrow.begin(),
                           [](T v) { return static_cast<std::uint8_t>(v); });
    return Values{DType::u8, Segment::of(std::move(narrow))};
  }
  std::vector<float> wide(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool exact = std::cmp_less_equal(values[i], largest_exact) &&
                       std::cmp_greater_equal(values[i], -largest_exact);
    if (!exact) {
      return bad_input(
          file, fmt::format("{}: expected an integer that float32 holds exactly (at most 2^24), "
                            "got {}",
                            at_row(i, cols), values[i]));
    }
    wide[i] = static_cast<float>(values[i]);
  }
  return Values{DType::f32, Segment::of(std::move(wide))};
}

template <class T>
Result<Values> convert_floats(std::span<const T> values, const std::string& file,
                              std::uint64_t cols) {
  std::vector<float> narrow(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    narrow[i] = static_cast<float>(values[i]);
    if (!std::isfinite(narrow[i])) {
      return bad_input(
          file, fmt::format("{}: expected a finite float32, got {}", at_row(i, cols), values[i]));
    }
  }
  return Values{DType::f32, Segment::of(std::move(narrow))};
}

Result<Values> check_halves(std::span<const std::uint16_t> values, const std::string& file,
                            std::uint64_t cols) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if ((values[i] & 0x7C00U) == 0x7C00U) {
      return bad_input(file, fmt::format("{}: expected a finite float16, got {}", at_row(i, cols),
                                         (values[i] & 0x3FFU) != 0 ? "nan" : "inf"));
    }
  }
  return Values{DType::f16, Segment::of(std::vector<std::uint16_t>(values.begin(), values.end()))};
}

/// Checks and converts feature values. \param cols  for messages; 1 for a list
Result<Values> convert(const NpyArray& array, const std::string& file, std::uint64_t cols) {
  return visit_elements(array, [&](auto values) -> Result<Values> {
    using T = typename decltype(values)::value_type;
    if constexpr (std::is_floating_point_v<T>) {
      return convert_floats(values, file, cols);
    } else {
      if constexpr (std::is_same_v<T, std::uint16_t>) {
        if (array.type.kind == 'f') {
          return check_halves(values, file, cols);
        }
      }
      return convert_integers(values, file, cols);
    }
  });
}

Result<Features> read_dense(const Source& source) {
  const std::string file = "x.npy";
  TROUPE_ASSIGN_OR_RETURN(const auto array, source.read(file));
  if (array.shape.size() != 2 || array.shape[1] == 0 ||
      array.shape[1] > store_layout::largest_cols) {
    return bad_input(
        file, fmt::format("expected shape [nodes, features], got {}", shape_text(array.shape)));
  }
  const auto cols = array.shape[1];
  if (source.meta.num_features && *source.meta.num_features != cols) {
    return bad_input(file, fmt::format("expected {} columns (num_features of meta.json), got {}",
                                       *source.meta.num_features, cols));
  }
  TROUPE_ASSIGN_OR_RETURN(auto values, convert(array, file, cols));
  return Features{{values.dtype, cols, 1.0F}, array.shape[0], std::move(values.data)};
}

/// Sparse rows as read: offsets, columns and, for each, a value.
struct SparseRows {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> columns;
  Values values;
  std::uint64_t cols = 0;
};

Result<std::vector<std::uint64_t>> read_list(const Source& source, const std::string& file,
                                             const std::string& what, std::uint64_t end) {
  TROUPE_ASSIGN_OR_RETURN(const auto array, source.read(file));
  if (array.shape.size() != 1) {
    return bad_input(file, fmt::format("expected one dimension, got {}", shape_text(array.shape)));
  }
  return read_ids(array, {file, what, 0, array.shape[0], end});
}

Result<SparseRows> read_sparse_rows(const Source& source) {
  SparseRows rows;
  TROUPE_ASSIGN_OR_RETURN(
      rows.offsets, read_list(source, "x_indptr.npy", "an offset", store_layout::largest_count));
  TROUPE_ASSIGN_OR_RETURN(rows.columns,
                          read_list(source, "x_indices.npy", "a column",
                                    source.meta.num_features.value_or(store_layout::largest_cols)));
  const bool ascending = std::ranges::is_sorted(rows.offsets);
  if (rows.offsets.empty() || rows.offsets.front() != 0 || !ascending ||
      rows.offsets.back() != rows.columns.size()) {
    const auto drop = std::ranges::is_sorted_until(rows.offsets);
    const auto row = drop - rows.offsets.begin();
    return bad_input(
        "x_indptr.npy",
        fmt::format("row {}: expected offsets that ascend from 0 to {}, the number of indices", row,
                    rows.columns.size()));
  }
  if (source.has("x_data.npy")) {
    TROUPE_ASSIGN_OR_RETURN(const auto array, source.read("x_data.npy"));
    if (array.shape.size() != 1 || array.shape[0] != rows.columns.size()) {
      return bad_input("x_data.npy", fmt::format("expected shape [{}], one value per index, got {}",
                                                 rows.columns.size(), shape_text(array.shape)));
    }
    TROUPE_ASSIGN_OR_RETURN(rows.values, convert(array, "x_data.npy", 1));
  } else {
    rows.values = {DType::u8, Segment::of(std::vector<std::uint8_t>(rows.columns.size(), 1))};
  }
  const auto last = std::ranges::max_element(rows.columns);
  rows.cols = source.meta.num_features.value_or(last == rows.columns.end() ? 0 : *last + 1);
  if (rows.cols == 0) {
    return bad_input("x_indices.npy",
                     "expected at least one feature (num_features in meta.json), got 0");
  }
  return rows;
}

Result<Features> read_sparse(const Source& source) {
  if (!source.has("x_indptr.npy") || !source.has("x_indices.npy")) {
    return Error(Errc::not_found,
                 fmt::format("{}: expected x_indptr.npy and x_indices.npy, found one of them",
                             source.dir.string()));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto sparse, read_sparse_rows(source));
  const auto rows = sparse.offsets.size() - 1;
  const auto width = size_bytes(sparse.values.dtype);
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(rows, sparse.cols * width, &size) ||
      size > store_layout::largest_count) {
    return bad_input(
        "x_indptr.npy",
        fmt::format("expected features that fit memory, got {} rows of {}", rows, sparse.cols));
  }
  std::vector<std::byte> dense(size);
  std::vector<std::uint64_t> row_of_column(sparse.cols, rows);  // the last row that set the column
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (auto i = sparse.offsets[row]; i < sparse.offsets[row + 1]; ++i) {
      const auto column = sparse.columns[i];
      if (row_of_column[column] == row) {
        return bad_input(
            "x_indices.npy",
            fmt::format("row {}: expected each column once, got {} twice", row, column));
      }
      row_of_column[column] = row;
      std::memcpy(dense.data() + (row * sparse.cols + column) * width,
                  sparse.values.data.bytes.data() + i * width, width);
    }
  }
  return Features{{sparse.values.dtype, sparse.cols, 1.0F}, rows, Segment::of(std::move(dense))};
}

Result<Labels> read_classes(const NpyArray& array, const Source& source) {
  const std::string file = "y.npy";
  Labels labels;
  labels.rows = array.shape[0];
  const auto end =
      static_cast<std::int64_t>(source.meta.num_classes.value_or(store_layout::largest_cols));
  auto status = visit_elements(array, [&](auto values) -> Status {
    using T = typename decltype(values)::value_type;
    for (std::uint64_t row = 0; row < values.size(); ++row) {
      const auto label = static_cast<std::int64_t>(values[row]);
      const bool wrapped = std::is_same_v<T, std::uint64_t> && label < 0;
      if (wrapped || label < -1 || label >= end) {
        return bad_input(file, fmt::format("row {}: expected a label from -1 (none) to {}, got {}",
                                           row, end - 1, values[row]));
      }
      labels.classes.push_back(label);
    }
    return ok_status();
  });
  TROUPE_RETURN_IF_ERROR(std::move(status));
  const auto largest = std::ranges::max_element(labels.classes);
  const auto seen = largest == labels.classes.end() ? 0 : *largest + 1;
  labels.info = {LabelInfo::Kind::classes,
                 source.meta.num_classes.value_or(static_cast<std::uint64_t>(seen))};
  return labels;
}

Result<Labels> read_targets(const NpyArray& array) {
  if (array.shape[1] == 0 || array.shape[1] > store_layout::largest_cols) {
    return bad_input(
        "y.npy", fmt::format("expected shape [nodes, labels], got {}", shape_text(array.shape)));
  }
  Labels labels;
  labels.rows = array.shape[0];
  labels.info = {LabelInfo::Kind::targets, array.shape[1]};
  if (array.type.kind == 'f' && array.type.bytes == 2) {
    return bad_input("y.npy", "expected targets as integers, float32 or float64, got float16");
  }
  constexpr float unknown = std::numeric_limits<float>::quiet_NaN();  // one NaN: digests need it
  auto status = visit_elements(array, [&](auto values) -> Status {
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<double>(values[i]);
      if (!(value == 0 || value == 1 || value == -1 || std::isnan(value))) {
        return bad_input("y.npy", fmt::format("{}: expected a target 0 or 1, or -1 or NaN where it "
                                              "is unknown, got {}",
                                              at_row(i, array.shape[1]), values[i]));
      }
      labels.targets.push_back(value == 1 ? 1.0F : value == 0 ? 0.0F : unknown);
    }
    return ok_status();
  });
  TROUPE_RETURN_IF_ERROR(std::move(status));
  return labels;
}

}  // namespace

Result<std::optional<Features>> read_features(const Source& source) {
  const bool sparse = source.has("x_indptr.npy") || source.has("x_indices.npy");
  if (source.has("x.npy")) {
    if (sparse) {
      return bad_input("x.npy", "expected x.npy or x_indptr.npy, found both");
    }
    TROUPE_ASSIGN_OR_RETURN(auto features, read_dense(source));
    return std::optional(std::move(features));
  }
  if (!sparse) {
    return std::optional<Features>();
  }
  TROUPE_ASSIGN_OR_RETURN(auto features, read_sparse(source));
  return std::optional(std::move(features));
}

Result<std::optional<Labels>> read_labels(const Source& source) {
  if (!source.has("y.npy")) {
    return std::optional<Labels>();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto array, source.read("y.npy"));
  const bool integers = array.type.kind == 'i' || array.type.kind == 'u';
  if (array.shape.size() == 1 && integers) {
    TROUPE_ASSIGN_OR_RETURN(auto labels, read_classes(array, source));
    return std::optional(std::move(labels));
  }
  if (array.shape.size() == 2) {
    TROUPE_ASSIGN_OR_RETURN(auto labels, read_targets(array));
    return std::optional(std::move(labels));
  }
  return bad_input("y.npy",
                   fmt::format("expected integers [nodes] or targets [nodes, labels], got {} {}",
                               to_string(array.type), shape_text(array.shape)));
}

}  // namespace troupe::npy_source
