#pragma once
/// \file tensor_blocks.hpp
/// Rows of one tensor at one holder, in blocks of about 64 KiB that are made when one of their rows is first written.
#include "runtime/base/ids.hpp"
#include "runtime/feature/embedding/initial_rows.hpp"
#include "runtime/graph/graph_info.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

namespace troupe {

/// What the rows of a tensor are before they are written: zeros, or numbers by Philox from their ids.
struct TensorStartRows {
  std::optional<InitialRows> random = std::nullopt;  ///< None: zeros
  DType dtype = DType::f32;
  std::uint32_t cols = 1;
  std::uint64_t first =
      0;  ///< Number of row 0; the id of a row is its number, unless there are `ids`
  std::span<const std::uint64_t> ids = {};  ///< Original id of each row

  /// Writes rows `row` and following. \param out  [rows, cols] of the dtype
  void fill(std::uint64_t row, std::uint64_t rows, std::byte* out) const;
};

/// Rows 0 to `count` - 1. A copy shares all blocks with the original until one of the two writes to them: it costs a
/// pointer per 64 MiB of rows, and later what changes.
/// Threads:    one at a time, all copies together: whether a block is shared is read from its count of users
/// Guarantees: a row that nobody wrote is as it starts, and takes no memory
/// Borrows:    TensorStartRows::ids
class TensorBlocks {
 public:
  /// \param row_bytes  from 1
  TensorBlocks(std::uint64_t count, std::size_t row_bytes, TensorStartRows start);

  std::uint64_t count() const { return count_; }
  std::size_t row_bytes() const { return row_bytes_; }

  /// Rows `row` and following. \param to  [rows, row_bytes]
  void read(std::uint64_t row, std::uint64_t rows, std::byte* to) const;
  /// Makes what writing to rows needs, so that writable() cannot fail. Throws std::bad_alloc.
  void prepare(std::uint64_t row, std::uint64_t rows);
  /// A row to write to. \requires prepare() of it, and no copy since
  std::byte* writable(std::uint64_t row) { return const_cast<std::byte*>(find(row)); }
  /// Replaces rows. Throws std::bad_alloc, after some. \param from  [rows, row_bytes]
  void write(std::uint64_t row, std::uint64_t rows, const std::byte* from);

  /// Rows of one block that was written.
  struct Made {
    std::uint64_t first = 0;
    std::uint64_t rows = 0;
    const std::byte* values = nullptr;  ///< [rows, row_bytes]
  };
  /// The first such block with rows from `row` on, whole. None: there is none
  std::optional<Made> next_made(std::uint64_t row) const;

 private:
  static constexpr std::size_t blocks_per_group = 1024;
  using Block = std::shared_ptr<std::byte[]>;
  using Group = std::array<Block, blocks_per_group>;

  /// Null: nobody wrote to its block.
  const std::byte* find(std::uint64_t row) const;
  std::uint64_t rows_of(std::uint64_t block) const;
  void prepare_block(std::uint64_t block);

  std::uint64_t count_ = 0;
  std::size_t row_bytes_ = 1;
  std::uint64_t rows_per_block_ = 1;
  TensorStartRows start_;
  std::map<std::uint64_t, std::shared_ptr<Group>> groups_;  ///< by number
};

}  // namespace troupe
