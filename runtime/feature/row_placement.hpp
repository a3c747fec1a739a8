#pragma once
/// \file row_placement.hpp
/// Rows of a batch on their way to their places, from several sources in the order of places.
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/part.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// Rows of some nodes of one type: in a part here, or packed in a reply. Borrowed.
struct ComingRows {
  std::span<const NodeId> nodes;
  std::span<const std::uint32_t> places;  ///< [nodes] ascending batch-local indices
  const PartNodes* part = nullptr;        ///< null: `packed`
  std::span<const std::byte> packed = {};
  std::size_t done = 0;  ///< so many are in their places
};

/// Decodes the rows whose places are below `end` and that are not in their places yet.
void place_rows(const RowDecoder& decoder, ComingRows& rows, std::size_t end, MutMatrix out);

/// Copies all rows one after the other, without decoding them.
/// \param to  as large as they are
void copy_rows_as_stored(const ComingRows& rows, std::span<std::byte> to);

/// Rows of `cols` columns that the first-level cache holds together.
std::size_t rows_in_cache(std::uint64_t cols);

}  // namespace troupe
