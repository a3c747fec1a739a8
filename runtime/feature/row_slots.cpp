#include "runtime/feature/row_slots.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

RowSlots::RowSlots(std::vector<PartId> parts, std::span<const std::vector<RowPiece>> pieces)
    : parts_(std::move(parts)) {
  for (const auto& of_type : pieces) {
    TROUPE_ASSERT(of_type.size() == 2 * parts_.size(), "pieces of rows, parts", of_type.size(),
                  parts_.size());
    auto& type = types_.emplace_back();
    for (const auto& piece : of_type) {
      type.far_begin += piece.near;
      type.staged_begin += piece.rows;
    }
    auto near_begin = std::uint64_t{0};
    auto far_begin = type.far_begin;
    for (const auto& piece : of_type) {
      auto& slots = type.pieces.emplace_back();
      slots.near_ = piece.near;
      slots.near_begin_ = near_begin;
      slots.far_begin_ = far_begin;
      near_begin += piece.near;
      far_begin += piece.rows - piece.near;
    }
  }
}

std::optional<std::size_t> RowSlots::place_of(PartId part) const {
  const auto found = std::ranges::find(parts_, part);
  return found == parts_.end() ? std::nullopt
                               : std::optional(static_cast<std::size_t>(found - parts_.begin()));
}

const RowSlots::OfPiece* RowSlots::of_part(NodeTypeId type, PartId part) const {
  const auto place = place_of(part);
  return place ? &types_[raw(type)].pieces[*place] : nullptr;
}

const RowSlots::OfPiece* RowSlots::of_halo(NodeTypeId type, PartId part) const {
  const auto place = place_of(part);
  return place ? &types_[raw(type)].pieces[parts_.size() + *place] : nullptr;
}

}  // namespace troupe
