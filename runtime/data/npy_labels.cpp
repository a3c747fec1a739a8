#include "runtime/data/npy_source.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <type_traits>

namespace troupe::npy_source {
namespace {

constexpr const char* file_name = "y.npy";

/// Calls `take(first row, values)` block by block.
template <class Take>
Status for_each_block_of(const NpyArray& array, std::uint64_t row_width, const Take& take) {
  return visit_elements(array, [&](auto values) -> Status {
    const auto rows = std::max<std::uint64_t>(1, block_elements / row_width);
    for (std::uint64_t first = 0; first < values.size(); first += rows * row_width) {
      const auto count = std::min<std::uint64_t>(rows * row_width, values.size() - first);
      TROUPE_RETURN_IF_ERROR(take(first, values.subspan(first, count)));
    }
    return ok_status();
  });
}

Result<LabelFile> open_classes(NpyArray array, const Source& source) {
  LabelFile labels;
  labels.rows = array.shape[0];
  const auto end =
      static_cast<std::int64_t>(source.meta.num_classes.value_or(store_layout::largest_cols));
  std::int64_t largest = -1;
  TROUPE_RETURN_IF_ERROR(
      for_each_block_of(array, 1, [&](std::uint64_t first, auto values) -> Status {
        using T = typename decltype(values)::value_type;
        for (std::size_t i = 0; i < values.size(); ++i) {
          const auto label = static_cast<std::int64_t>(values[i]);
          const bool wrapped = std::is_same_v<T, std::uint64_t> && label < 0;
          if (wrapped || label < -1 || label >= end) {
            return bad_input(file_name,
                             fmt::format("row {}: expected a label from -1 (none) to {}, got {}",
                                         first + i, end - 1, values[i]));
          }
          largest = std::max(largest, label);
        }
        return ok_status();
      }));
  labels.info = {LabelInfo::Kind::classes,
                 source.meta.num_classes.value_or(static_cast<std::uint64_t>(largest + 1))};
  labels.array = std::move(array);
  return labels;
}

Result<LabelFile> open_targets(NpyArray array) {
  const auto cols = array.shape[1];
  if (cols == 0 || cols > store_layout::largest_cols) {
    return bad_input(
        file_name, fmt::format("expected shape [nodes, labels], got {}", shape_text(array.shape)));
  }
  if (array.type.kind == 'f' && array.type.bytes == 2) {
    return bad_input(file_name, "expected targets as integers, float32 or float64, got float16");
  }
  LabelFile labels;
  labels.rows = array.shape[0];
  labels.info = {LabelInfo::Kind::targets, cols};
  labels.array = std::move(array);
  return labels;
}

template <class T>
Status convert_targets(std::span<const T> values, std::uint64_t first, std::uint64_t cols,
                       std::vector<float>& targets) {
  constexpr float unknown = std::numeric_limits<float>::quiet_NaN();  // one NaN: digests need it
  targets.clear();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    if (!(value == 0 || value == 1 || value == -1 || std::isnan(value))) {
      return bad_input(file_name,
                       fmt::format("row {}, column {}: expected a target 0 or 1, or -1 or NaN "
                                   "where it is unknown, got {}",
                                   (first + i) / cols, (first + i) % cols, values[i]));
    }
    targets.push_back(value == 1 ? 1.0F : value == 0 ? 0.0F : unknown);
  }
  return ok_status();
}

}  // namespace

Result<std::optional<LabelFile>> open_labels(const Source& source) {
  if (!source.has(file_name)) {
    return std::optional<LabelFile>();
  }
  TROUPE_ASSIGN_OR_RETURN(auto array, source.read(file_name));
  const bool integers = array.type.kind == 'i' || array.type.kind == 'u';
  if (array.shape.size() == 1 && integers) {
    TROUPE_ASSIGN_OR_RETURN(auto labels, open_classes(std::move(array), source));
    return std::optional(std::move(labels));
  }
  if (array.shape.size() == 2) {
    TROUPE_ASSIGN_OR_RETURN(auto labels, open_targets(std::move(array)));
    return std::optional(std::move(labels));
  }
  return bad_input(file_name,
                   fmt::format("expected integers [nodes] or targets [nodes, labels], got {} {}",
                               to_string(array.type), shape_text(array.shape)));
}

Status read_labels(const LabelFile& file,
                   const std::function<Status(std::span<const std::int64_t>)>& take_classes,
                   const std::function<Status(std::span<const float>)>& take_targets) {
  if (file.info.kind == LabelInfo::Kind::classes) {
    std::vector<std::int64_t> classes;
    return for_each_block_of(file.array, 1, [&](std::uint64_t, auto values) {
      classes.resize(values.size());
      std::ranges::transform(values, classes.begin(),
                             [](auto value) { return static_cast<std::int64_t>(value); });
      return take_classes(classes);
    });
  }
  const auto cols = file.info.classes;
  std::vector<float> targets;
  return for_each_block_of(file.array, cols, [&](std::uint64_t first, auto values) -> Status {
    TROUPE_RETURN_IF_ERROR(convert_targets(values, first, cols, targets));
    return take_targets(targets);
  });
}

}  // namespace troupe::npy_source
