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

/// Where values come from, for messages.
struct Place {
  const std::string& file;
  std::uint64_t cols;   ///< 1 for a list
  std::uint64_t first;  ///< number of the first value
};

template <class T>
Status convert_integers(std::span<const T> values, DType dtype, const Place& place,
                        std::byte* out) {
  if (dtype == DType::u8) {  // all are known to fit
    std::ranges::transform(values, reinterpret_cast<std::uint8_t*>(out),
                           [](T v) { return static_cast<std::uint8_t>(v); });
    return ok_status();
  }
  auto* wide = reinterpret_cast<float*>(out);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool exact = std::cmp_less_equal(values[i], largest_exact) &&
                       std::cmp_greater_equal(values[i], -largest_exact);
    if (!exact) {
      return bad_input(
          place.file,
          fmt::format("{}: expected an integer that float32 holds exactly (at most 2^24), got {}",
                      at_row(place.first + i, place.cols), values[i]));
    }
    wide[i] = static_cast<float>(values[i]);
  }
  return ok_status();
}

template <class T>
Status convert_floats(std::span<const T> values, const Place& place, std::byte* out) {
  auto* narrow = reinterpret_cast<float*>(out);
  for (std::size_t i = 0; i < values.size(); ++i) {
    narrow[i] = static_cast<float>(values[i]);
    if (!std::isfinite(narrow[i])) {
      return bad_input(place.file, fmt::format("{}: expected a finite float32, got {}",
                                               at_row(place.first + i, place.cols), values[i]));
    }
  }
  return ok_status();
}

Status copy_halves(std::span<const std::uint16_t> values, const Place& place, std::byte* out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if ((values[i] & 0x7C00U) == 0x7C00U) {
      return bad_input(place.file, fmt::format("{}: expected a finite float16, got {}",
                                               at_row(place.first + i, place.cols),
                                               (values[i] & 0x3FFU) != 0 ? "nan" : "inf"));
    }
  }
  std::memcpy(out, values.data(), values.size_bytes());
  return ok_status();
}

/// How these numbers are stored.
DType stored_dtype(const NpyArray& array) {
  if (array.type.kind == 'f') {
    return array.type.bytes == 2 ? DType::f16 : DType::f32;
  }
  return visit_elements(array, [](auto values) {
    using T = typename decltype(values)::value_type;
    if constexpr (std::is_integral_v<T>) {
      return fits_u8(values) ? DType::u8 : DType::f32;
    } else {
      return DType::f32;
    }
  });
}

/// Checks and converts the values [place.first, place.first + count).
/// \param out  aligned to 4, room for count values of `dtype`
Status convert(const NpyArray& array, DType dtype, const Place& place, std::uint64_t count,
               std::byte* out) {
  return visit_elements(array, [&](auto all) -> Status {
    using T = typename decltype(all)::value_type;
    const auto values = all.subspan(place.first, count);
    if constexpr (std::is_floating_point_v<T>) {
      return convert_floats(values, place, out);
    } else {
      if constexpr (std::is_same_v<T, std::uint16_t>) {
        if (array.type.kind == 'f') {
          return copy_halves(values, place, out);
        }
      }
      return convert_integers(values, dtype, place, out);
    }
  });
}

Result<FeatureFiles> open_dense(const Source& source) {
  const std::string file = "x.npy";
  TROUPE_ASSIGN_OR_RETURN(auto array, source.read(file));
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
  FeatureFiles files;
  files.info = {stored_dtype(array), cols, 1.0F};
  files.rows = array.shape[0];
  files.values_file = file;
  files.values = std::move(array);
  return files;
}

Result<NpyArray> open_list(const Source& source, const std::string& file) {
  TROUPE_ASSIGN_OR_RETURN(auto array, source.read(file));
  if (array.shape.size() != 1) {
    return bad_input(file, fmt::format("expected one dimension, got {}", shape_text(array.shape)));
  }
  return array;
}

IdRange row_offsets(std::uint64_t begin, std::uint64_t count) {
  return {"x_indptr.npy", "an offset", begin, count, store_layout::largest_count, begin};
}

IdRange row_columns(std::uint64_t begin, std::uint64_t count, std::uint64_t end) {
  return {"x_indices.npy", "a column", begin, count, end, begin};
}

Status check_row_offsets(const NpyArray& offsets, std::uint64_t indices) {
  const auto rows = offsets.shape[0];
  std::uint64_t wrong = rows;  // the first row that does not ascend
  std::uint64_t first = 1;
  std::uint64_t before = 0;
  TROUPE_RETURN_IF_ERROR(for_each_id_block(
      offsets, row_offsets(0, rows), [&](std::uint64_t row, std::span<const std::uint64_t> block) {
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
        "x_indptr.npy",
        fmt::format("row {}: expected offsets that ascend from 0 to {}, the number of indices",
                    wrong, indices));
  }
  return ok_status();
}

Status open_values(const Source& source, std::uint64_t indices, FeatureFiles& files) {
  files.values_file = "x_data.npy";
  files.info.dtype = DType::u8;  // ones, if there is no such file
  if (!source.has(files.values_file)) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(auto array, source.read(files.values_file));
  if (array.shape.size() != 1 || array.shape[0] != indices) {
    return bad_input(files.values_file,
                     fmt::format("expected shape [{}], one value per index, got {}", indices,
                                 shape_text(array.shape)));
  }
  files.info.dtype = stored_dtype(array);
  files.values = std::move(array);
  return ok_status();
}

Result<FeatureFiles> open_sparse(const Source& source) {
  if (!source.has("x_indptr.npy") || !source.has("x_indices.npy")) {
    return Error(Errc::not_found,
                 fmt::format("{}: expected x_indptr.npy and x_indices.npy, found one of them",
                             source.dir.string()));
  }
  FeatureFiles files;
  TROUPE_ASSIGN_OR_RETURN(files.offsets, open_list(source, "x_indptr.npy"));
  TROUPE_ASSIGN_OR_RETURN(files.columns, open_list(source, "x_indices.npy"));
  const auto indices = files.columns->shape[0];
  TROUPE_RETURN_IF_ERROR(check_row_offsets(*files.offsets, indices));
  const auto known = source.meta.num_features;
  TROUPE_ASSIGN_OR_RETURN(
      const auto end,
      end_of_ids(*files.columns,
                 row_columns(0, indices, known.value_or(store_layout::largest_cols))));
  TROUPE_RETURN_IF_ERROR(open_values(source, indices, files));
  files.rows = files.offsets->shape[0] - 1;
  files.info.cols = known.value_or(end);
  if (files.info.cols == 0) {
    return bad_input("x_indices.npy",
                     "expected at least one feature (num_features in meta.json), got 0");
  }
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(files.rows, files.info.cols * size_bytes(files.info.dtype), &size) ||
      size > store_layout::largest_count) {
    return bad_input("x_indptr.npy", fmt::format("expected features that fit memory, got {} rows "
                                                 "of {}",
                                                 files.rows, files.info.cols));
  }
  return files;
}

/// Makes sparse rows dense.
class RowFiller {
 public:
  explicit RowFiller(const FeatureFiles& files)
      : files_(files),
        width_(size_bytes(files.info.dtype)),
        row_of_column_(files.info.cols, files.rows) {}

  /// The rows [first, first + count).
  Status fill(std::uint64_t first, std::uint64_t count, std::vector<std::byte>& dense) {
    TROUPE_ASSIGN_OR_RETURN(const auto ends,
                            read_ids(*files_.offsets, row_offsets(first, count + 1)));
    dense.assign(count * files_.info.cols * width_, std::byte{0});
    for (std::uint64_t i = 0; i < count; ++i) {
      auto* row = dense.data() + i * files_.info.cols * width_;
      for (auto at = ends[i]; at < ends[i + 1]; at += block_elements) {
        TROUPE_RETURN_IF_ERROR(
            fill_row(first + i, at, std::min(block_elements, ends[i + 1] - at), row));
      }
    }
    return ok_status();
  }

 private:
  Status fill_row(std::uint64_t row, std::uint64_t begin, std::uint64_t count, std::byte* out) {
    TROUPE_ASSIGN_OR_RETURN(const auto columns,
                            read_ids(*files_.columns, row_columns(begin, count, files_.info.cols)));
    values_.resize(count * sizeof(float));
    if (files_.values) {
      TROUPE_RETURN_IF_ERROR(convert(*files_.values, files_.info.dtype,
                                     {files_.values_file, 1, begin}, count, values_.data()));
    } else {
      std::ranges::fill(values_, std::byte{1});
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto column = columns[i];
      if (row_of_column_[column] == row) {
        return bad_input(
            "x_indices.npy",
            fmt::format("row {}: expected each column once, got {} twice", row, column));
      }
      row_of_column_[column] = row;
      std::memcpy(out + column * width_, values_.data() + i * width_, width_);
    }
    return ok_status();
  }

  const FeatureFiles& files_;
  std::size_t width_;
  std::vector<std::uint64_t> row_of_column_;  ///< the last row that set the column
  std::vector<std::byte> values_;
};

}  // namespace

Result<std::optional<FeatureFiles>> open_features(const Source& source) {
  const bool sparse = source.has("x_indptr.npy") || source.has("x_indices.npy");
  if (source.has("x.npy")) {
    if (sparse) {
      return bad_input("x.npy", "expected x.npy or x_indptr.npy, found both");
    }
    TROUPE_ASSIGN_OR_RETURN(auto features, open_dense(source));
    return std::optional(std::move(features));
  }
  if (!sparse) {
    return std::optional<FeatureFiles>();
  }
  TROUPE_ASSIGN_OR_RETURN(auto features, open_sparse(source));
  return std::optional(std::move(features));
}

Status read_features(const FeatureFiles& files,
                     const std::function<Status(std::span<const std::byte>)>& take) {
  const auto cols = files.info.cols;
  const auto rows_at_once = std::max<std::uint64_t>(1, block_elements / cols);
  std::vector<std::byte> block;
  std::optional<RowFiller> filler;
  if (files.offsets) {
    filler.emplace(files);
  }
  for (std::uint64_t row = 0; row < files.rows; row += rows_at_once) {
    const auto rows = std::min(rows_at_once, files.rows - row);
    if (filler) {
      TROUPE_RETURN_IF_ERROR(filler->fill(row, rows, block));
    } else {
      block.resize(rows * cols * size_bytes(files.info.dtype));
      TROUPE_RETURN_IF_ERROR(convert(*files.values, files.info.dtype,
                                     {files.values_file, cols, row * cols}, rows * cols,
                                     block.data()));
    }
    TROUPE_RETURN_IF_ERROR(take(block));
  }
  return ok_status();
}

}  // namespace troupe::npy_source
