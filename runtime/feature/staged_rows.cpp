#include "runtime/feature/staged_rows.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + StagedRows::alignment - 1) / StagedRows::alignment * StagedRows::alignment;
}

}  // namespace

std::span<std::uint64_t> StagedRows::slots(NodeTypeId type) const {
  const auto& of = types[raw(type)];
  return {reinterpret_cast<std::uint64_t*>(block.data() + of.slots_begin), of.rows};
}

std::span<std::byte> StagedRows::rows(NodeTypeId type) const {
  const auto& of = types[raw(type)];
  return {block.data() + of.staged_begin, of.staged * of.row_bytes};
}

RowStaging::RowStaging(std::shared_ptr<const RowSlots> slots, std::span<const Type> types)
    : slots_(std::move(slots)) {
  TROUPE_ASSERT(types.size() == slots_->types(), "node types, those with slots", types.size(),
                slots_->types());
  std::size_t size = 0;
  for (const auto& type : types) {
    rows_.types.push_back({.rows = type.rows, .slots_begin = size, .row_bytes = type.row_bytes});
    size += aligned(type.rows * sizeof(std::uint64_t));
  }
  rows_.size_bytes = size;
  for (const auto& type : types) {
    size += aligned(type.most_staged * type.row_bytes);
  }
  rows_.block = Buffer(size);
  for (auto& of_type : rows_.types) {
    of_type.staged_begin = rows_.size_bytes;
  }
}

StagedRows::OfType& RowStaging::at(NodeTypeId type) {
  TROUPE_ASSERT(raw(type) >= type_, "node types in ascending order", raw(type), type_);
  for (; type_ < raw(type); ++type_) {
    const auto& before = rows_.types[type_];
    rows_.types[type_ + 1].staged_begin =
        before.staged_begin + aligned(before.staged * before.row_bytes);
  }
  return rows_.types[type_];
}

void RowStaging::put(NodeTypeId type, std::uint32_t place, std::uint64_t slot) {
  rows_.slots(type)[place] = slot;
  (slot < slots_->far_begin(type) ? rows_.rows_near : rows_.rows_far) += 1;
}

std::span<std::byte> RowStaging::stage(NodeTypeId type, std::span<const std::uint32_t> places) {
  auto& of = at(type);
  auto slot = slots_->staged_begin(type) + of.staged;
  for (const auto place : places) {
    rows_.slots(type)[place] = slot++;
  }
  const auto begin = of.staged_begin + of.staged * of.row_bytes;
  const auto bytes = places.size() * of.row_bytes;
  TROUPE_ASSERT(begin + bytes <= rows_.block.size(), "room for staged rows", begin, bytes,
                rows_.block.size());
  of.staged += places.size();
  return {rows_.block.data() + begin, bytes};
}

StagedRows RowStaging::take() && {
  if (!rows_.types.empty()) {
    const auto& last = at(static_cast<NodeTypeId>(rows_.types.size() - 1));
    rows_.size_bytes = last.staged_begin + last.staged * last.row_bytes;
  }
  return std::move(rows_);
}

}  // namespace troupe
