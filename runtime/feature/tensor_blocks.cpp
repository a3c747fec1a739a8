#include "runtime/feature/tensor_blocks.hpp"

#include "runtime/feature/tensor_numbers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Of one block, about: small enough for tensors of which few rows are written.
constexpr std::size_t block_bytes = std::size_t{64} << 10;

}  // namespace

void TensorStartRows::fill(std::uint64_t row, std::uint64_t rows, std::byte* out) const {
  if (!random) {
    std::memset(out, 0, rows * cols * size_bytes(dtype));
    return;
  }
  std::vector<float> values(cols);
  with_tensor_number(dtype, [&]<class Kind>(Kind) {
    using Word = typename Kind::Word;
    for (std::uint64_t i = row; i < row + rows; ++i) {
      random->fill(static_cast<OriginalId>(ids.empty() ? first + i : ids[i]), values);
      for (const float value : values) {
        const Word word = Kind::from(value);
        std::memcpy(out, &word, sizeof(Word));
        out += sizeof(Word);
      }
    }
  });
}

TensorBlocks::TensorBlocks(std::uint64_t count, std::size_t row_bytes, TensorStartRows start)
    : count_(count),
      row_bytes_(row_bytes),
      rows_per_block_(std::max<std::uint64_t>(1, block_bytes / row_bytes)),
      start_(start) {}

std::uint64_t TensorBlocks::rows_of(std::uint64_t block) const {
  return std::min(rows_per_block_, count_ - block * rows_per_block_);
}

const std::byte* TensorBlocks::find(std::uint64_t row) const {
  const auto block = row / rows_per_block_;
  const auto group = groups_.find(block / blocks_per_group);
  if (group == groups_.end()) {
    return nullptr;
  }
  const auto& found = (*group->second)[block % blocks_per_group];
  return found ? found.get() + row % rows_per_block_ * row_bytes_ : nullptr;
}

void TensorBlocks::read(std::uint64_t row, std::uint64_t rows, std::byte* to) const {
  for (const auto end = row + rows; row < end;) {
    const auto here = std::min(end - row, rows_per_block_ - row % rows_per_block_);
    if (const auto* from = find(row)) {
      std::memcpy(to, from, here * row_bytes_);
    } else {
      start_.fill(row, here, to);
    }
    row += here;
    to += here * row_bytes_;
  }
}

void TensorBlocks::prepare(std::uint64_t row, std::uint64_t rows) {
  for (auto block = row / rows_per_block_; rows > 0; ++block) {
    const auto end = (block + 1) * rows_per_block_;
    const auto here = std::min(rows, end - row);
    prepare_block(block);
    row += here;
    rows -= here;
  }
}

void TensorBlocks::prepare_block(std::uint64_t block) {
  const auto number = block / blocks_per_group;
  auto group = groups_.find(number);
  if (group == groups_.end()) {
    group = groups_.emplace(number, std::make_shared<Group>()).first;
  } else if (group->second.use_count() > 1) {
    group->second = std::make_shared<Group>(*group->second);
  }
  auto& values = (*group->second)[block % blocks_per_group];
  if (values && values.use_count() == 1) {
    return;
  }
  const auto rows = rows_of(block);
  auto fresh = std::make_shared_for_overwrite<std::byte[]>(rows * row_bytes_);
  read(block * rows_per_block_, rows, fresh.get());
  values = std::move(fresh);
}

void TensorBlocks::write(std::uint64_t row, std::uint64_t rows, const std::byte* from) {
  for (const auto end = row + rows; row < end;) {
    const auto here = std::min(end - row, rows_per_block_ - row % rows_per_block_);
    prepare_block(row / rows_per_block_);
    std::memcpy(writable(row), from, here * row_bytes_);
    row += here;
    from += here * row_bytes_;
  }
}

std::optional<TensorBlocks::Made> TensorBlocks::next_made(std::uint64_t row) const {
  if (row >= count_) {
    return std::nullopt;
  }
  const auto block = row / rows_per_block_;
  const auto from = block / blocks_per_group;
  for (auto group = groups_.lower_bound(from); group != groups_.end(); ++group) {
    auto at = group->first == from ? block % blocks_per_group : 0;
    for (; at < blocks_per_group; ++at) {
      if (const auto& values = (*group->second)[at]) {
        const auto found = group->first * blocks_per_group + at;
        return Made{found * rows_per_block_, rows_of(found), values.get()};
      }
    }
  }
  return std::nullopt;
}

}  // namespace troupe
