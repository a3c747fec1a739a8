#include "runtime/feature/row_placement.hpp"

#include "runtime/base/prefetch_row.hpp"
#include "runtime/feature/row_request.hpp"

#include <algorithm>
#include <cstring>

namespace troupe {
namespace {

/// With the rows as they are stored and those that are prefetched, less than a first-level cache.
constexpr std::size_t cached_bytes = std::size_t{1} << 14;

/// Rows of a part that stay as they are stored: no call for each of them.
void copy_rows(std::size_t row_bytes, ComingRows& rows, std::size_t end, MutMatrix out) {
  const auto stored = rows.part->features->data.bytes;
  const auto count = rows.nodes.size();
  const auto row_of = [&](std::size_t i) {
    return stored.subspan(rows.part->local(rows.nodes[i]) * row_bytes, row_bytes);
  };
  for (; rows.done < count && rows.places[rows.done] < end; ++rows.done) {
    prefetch_row(row_of(std::min(rows.done + rows_ahead, count - 1)));
    std::memcpy(out.row(rows.places[rows.done]).data(), row_of(rows.done).data(), row_bytes);
  }
}

}  // namespace

void place_rows(const RowDecoder& decoder, ComingRows& rows, std::size_t end, MutMatrix out) {
  const auto row_bytes = decoder.row_bytes();
  const auto count = rows.nodes.size();
  if (rows.part != nullptr && decoder.keeps_rows() && decoder.cols() == out.cols) {
    return copy_rows(row_bytes, rows, end, out);
  }
  for (; rows.done < count && rows.places[rows.done] < end; ++rows.done) {
    const auto i = rows.done;
    if (rows.part == nullptr) {
      decoder.decode(rows.packed.subspan(i * row_bytes, row_bytes), out.row(rows.places[i]));
      continue;
    }
    const auto& table = *rows.part->features;
    if (i + rows_ahead < count) {
      prefetch_row(table.row(rows.part->local(rows.nodes[i + rows_ahead])));
    }
    decoder.decode(table.row(rows.part->local(rows.nodes[i])), out.row(rows.places[i]));
  }
}

void copy_rows_as_stored(const ComingRows& rows, std::span<std::byte> to) {
  if (rows.part == nullptr) {
    std::ranges::copy(rows.packed, to.begin());
    return;
  }
  const auto& table = *rows.part->features;
  auto out = to.begin();
  for (const auto node : rows.nodes) {
    out = std::ranges::copy(table.row(rows.part->local(node)), out).out;
  }
}

std::size_t rows_in_cache(std::uint64_t cols) {
  return std::max<std::size_t>(1, cached_bytes / std::max<std::uint64_t>(1, cols * sizeof(float)));
}

}  // namespace troupe
