#pragma once
/// \file feature_table.hpp
/// Rows of features as they are stored: a dtype, a width and bytes. Conversion to float32 happens
/// in runtime/feature.
#include "runtime/base/buffer.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// A read-only table of rows, shape [rows, info.cols], row-major without padding.
struct FeatureTable {
  FeatureInfo info;
  std::uint64_t rows = 0;
  Segment data;

  std::size_t row_bytes() const noexcept { return info.row_bytes(); }
  std::span<const std::byte> row(std::uint64_t i) const {
    return data.bytes.subspan(i * row_bytes(), row_bytes());
  }
};

}  // namespace troupe
