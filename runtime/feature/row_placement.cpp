#include "runtime/feature/row_placement.hpp"

#include "runtime/base/prefetch_row.hpp"
#include "runtime/feature/row_request.hpp"

#include <algorithm>
#include <cstring>

namespace troupe {
namespace {

/// With the rows as they are stored and those that are prefetched, less than a first-level cache.
constexpr std::size_t cached_bytes = std::size_t{1} << 14;

/// Rows as they are stored: in a part, where those ahead are loaded early, or packed in a reply.
class StoredRows {
 public:
  StoredRows(const ComingRows& rows, std::size_t row_bytes)
      : rows_(rows),
        bytes_(rows.part == nullptr ? rows.packed : rows.part->features->data.bytes),
        row_bytes_(row_bytes) {}

  /// \param i  ascending from call to call
  std::span<const std::byte> operator[](std::size_t i) const {
    if (rows_.part != nullptr) {
      prefetch_row(at(std::min(i + rows_ahead, rows_.nodes.size() - 1)));
    }
    return at(i);
  }

 private:
  std::span<const std::byte> at(std::size_t i) const {
    const auto row = rows_.part == nullptr ? i : rows_.part->local(rows_.nodes[i]);
    return bytes_.subspan(row * row_bytes_, row_bytes_);
  }

  const ComingRows& rows_;
  std::span<const std::byte> bytes_;
  std::size_t row_bytes_;
};

}  // namespace

void place_rows(const RowDecoder& decoder, ComingRows& rows, std::size_t end, MutMatrix out) {
  const StoredRows stored(rows, decoder.row_bytes());
  const bool kept = decoder.keeps_rows() && decoder.cols() == out.cols;
  for (; rows.done < rows.nodes.size() && rows.places[rows.done] < end; ++rows.done) {
    const auto from = stored[rows.done];
    const auto to = out.row(rows.places[rows.done]);
    if (kept) {  // without a call for each row
      std::memcpy(to.data(), from.data(), from.size());
    } else {
      decoder.decode(from, to);
    }
  }
}

void copy_rows_as_stored(const ComingRows& rows, std::span<std::byte> to) {
  if (rows.nodes.empty()) {
    return;
  }
  const StoredRows stored(rows, to.size() / rows.nodes.size());
  auto out = to.begin();
  for (std::size_t i = 0; i < rows.nodes.size(); ++i) {
    out = std::ranges::copy(stored[i], out).out;
  }
}

std::size_t rows_in_cache(std::uint64_t cols) {
  return std::max<std::size_t>(1, cached_bytes / std::max<std::uint64_t>(1, cols * sizeof(float)));
}

}  // namespace troupe
