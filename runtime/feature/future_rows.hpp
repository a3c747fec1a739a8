#pragma once
/// \file future_rows.hpp
/// Rows of one node type of which a bounded number is kept: those that the known coming batches read
/// first. For all types of a graph together see future_cache.hpp.
#include "runtime/base/ids.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/sample/id_index.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace troupe {

/// Place of a batch in the order in which a rank trains its batches, over all epochs.
using Turn = std::uint64_t;

struct FutureRowsOptions {
  std::uint64_t room = 0;  ///< Rows that are kept at most, below 2^32
  std::uint64_t row_bytes = 0;
  std::uint32_t lookahead = 0;  ///< Batches that are known at once
};

/// Belady's rule as far as the future is known. Of the rows at hand the ones that a known batch reads
/// are kept before those that none reads, of the former those whose next reader comes first, of the
/// latter the hottest. A row that is worth less than all that are kept is not taken.
/// Lifecycle:  expect() batches in any order, find() and insert() rows, forget() each batch once its
///   rows were looked up, or if it never comes
/// Threads:    one at a time
/// Guarantees: what a batch reads never depends on what is kept. All known batches lie within `window()`
///   turns: others are forgotten when one comes
/// \cost       a random access for each row and call, and 16 bytes for a slot, 32 for a row that is kept
///   or known, `window()` bits for the batches that read it, 4 bytes for each read
class FutureRows {
 public:
  static constexpr std::size_t levels = 256;

  explicit FutureRows(FutureRowsOptions options);

  /// Turns that can be told apart: at least twice the look ahead, so that a late batch is still one of
  /// the past.
  std::uint32_t window() const { return window_; }

  /// The batch of a turn will read these rows. A row may be named twice; of a turn that is known already
  /// nothing changes.
  void expect(Turn turn, std::span<const NodeId> ids);
  /// What is known of a turn, if anything, is no longer so.
  void forget(Turn turn);
  bool knows(Turn turn) const { return turns_.contains(turn); }

  /// Where a node's row lies, if it is kept.
  std::optional<std::uint32_t> find(NodeId id) const;
  std::span<const std::byte> row(std::uint32_t at) const;
  OriginalId original_id(std::uint32_t at) const { return original_ids_[at]; }
  /// Keeps a row if it is worth more than another one that is kept, or if there is room.
  /// \param level  how hot it is, below `levels`: counts while no known batch reads it
  /// \returns whether it is kept now and was not before
  bool insert(NodeId id, std::uint8_t level, std::span<const std::byte> row, OriginalId original);

  std::uint64_t room() const { return options_.room; }
  std::uint64_t kept() const { return kept_; }
  /// Rows that are kept or that known batches read.
  std::uint64_t tracked() const { return numbers_.size(); }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// A row that is kept or that a known batch reads.
  struct Entry {
    NodeId id{};
    std::uint32_t place = none;  ///< Of the row; none: not kept
    std::uint32_t list = 0;      ///< Of equally good rows, if it is kept
    std::uint32_t before = none;
    std::uint32_t after = none;
    std::uint8_t level = 0;
  };

  std::uint32_t list_of_turn(Turn turn) const {
    return static_cast<std::uint32_t>(levels + turn % window_);
  }
  std::span<std::uint64_t> readers(std::uint32_t entry) {
    return std::span(readers_).subspan(std::size_t{entry} * words_, words_);
  }
  std::uint32_t find_or_add(NodeId id);
  void drop_if_idle(std::uint32_t entry);
  std::optional<std::uint32_t> next_reader(std::uint32_t entry);
  std::uint32_t list_for(std::uint32_t entry);
  void link(std::uint32_t entry, std::uint32_t list);
  void unlink(std::uint32_t entry);
  std::uint32_t worst_list();
  bool is_better(std::uint32_t list, std::uint32_t than) const;
  std::uint64_t worth(std::uint32_t list) const;
  std::uint32_t free_place();

  FutureRowsOptions options_;
  std::uint32_t window_;                            ///< A multiple of 64
  std::size_t words_;                               ///< Of the readers of one row
  std::set<Turn> turns_;                            ///< Known ones
  std::vector<PooledVector<std::uint32_t>> reads_;  ///< [window] entries that a known turn reads
  IdIndex numbers_;                                 ///< Entries by node
  PooledVector<Entry> entries_;
  PooledVector<std::uint64_t> readers_;       ///< [entries, words] known turns that read the row
  PooledVector<std::uint32_t> free_entries_;  ///< Of `entries_`
  /// First entries of lists of equally good rows: by level where no known batch reads them, then by turn.
  std::vector<std::uint32_t> heads_;
  std::uint32_t coldest_ = levels;  ///< No level below it has rows
  Turn farthest_ = 0;               ///< No known turn above it has rows
  PooledVector<std::byte> rows_;
  PooledVector<OriginalId> original_ids_;
  PooledVector<std::uint32_t> free_places_;
  std::uint64_t kept_ = 0;
};

}  // namespace troupe
