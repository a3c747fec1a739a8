#include "runtime/sample/row_offsets.hpp"

#include <algorithm>

namespace troupe {

RowOffsets::RowOffsets(std::uint32_t rows, ListedRows listed) {
  const auto kept = std::make_shared<const ListedRows>(std::move(listed));
  *this = RowOffsets(rows, {kept->rows, kept->offsets}, kept);
}

const RowOffsets::Dense& RowOffsets::Sparse::dense() const {
  std::call_once(once, [this] {
    made.resize(rows + std::size_t{1});
    auto from = made.begin();
    for (std::size_t i = 0; i < listed.rows.size(); ++i) {
      const auto to = made.begin() + listed.rows[i] + 1;
      std::fill(from, to, listed.offsets[i]);
      from = to;
    }
    std::fill(from, made.end(), listed.offsets.back());
  });
  return made;
}

std::uint32_t RowOffsets::before(std::uint32_t row) const {
  if (!sparse_) {
    return dense_[row];
  }
  const auto& listed = sparse_->listed;
  const auto at = std::ranges::lower_bound(listed.rows, row) - listed.rows.begin();
  return listed.offsets[static_cast<std::size_t>(at)];
}

std::uint64_t RowOffsets::kept_bytes() const {
  const auto* const some = listed();
  return sizeof(std::uint32_t) *
         (some == nullptr ? dense_.size() : some->rows.size() + some->offsets.size());
}

}  // namespace troupe
