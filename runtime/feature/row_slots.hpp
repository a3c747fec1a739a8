#pragma once
/// \file row_slots.hpp
/// Numbers of the rows of features that the devices of a process read. Knows no devices.
#include "runtime/base/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// Rows of one node type of one part.
struct RowPiece {
  std::uint64_t rows = 0;
  std::uint64_t near =
      0;  ///< The first so many are in a device's memory, the others in pinned memory
  friend bool operator==(const RowPiece&, const RowPiece&) = default;
};

/// A device reads the rows of a node type in three places: its own memory has the first rows of each
/// part of its process (`near`), pinned memory of the host has the others (`far`), and a block that is
/// copied for one batch has rows of parts elsewhere (`staged`). Slots number them in this order:
///
///     near rows of part a | of b | … | far rows of part a | of b | … | staged rows of the batch
///
/// Rows that a part keeps of other parts' nodes (its halo) are pieces, too, after those of all parts.
/// Threads: immutable; any number at once
class RowSlots {
 public:
  /// Slots of the rows of one piece.
  class OfPiece {
   public:
    /// \param row  below the piece's rows
    std::uint64_t operator()(std::uint64_t row) const {
      return row < near_ ? near_begin_ + row : far_begin_ + (row - near_);
    }

   private:
    friend class RowSlots;
    std::uint64_t near_ = 0;
    std::uint64_t near_begin_ = 0;
    std::uint64_t far_begin_ = 0;
  };

  /// \param parts   whose rows the devices have
  /// \param pieces  [types][2 * parts]: rows of the parts, then of their halos, in one order
  RowSlots(std::vector<PartId> parts, std::span<const std::vector<RowPiece>> pieces);

  /// Rows that a part owns; null: no device has them.
  const OfPiece* of_part(NodeTypeId type, PartId part) const;
  /// Rows that a part keeps of other parts' nodes.
  const OfPiece* of_halo(NodeTypeId type, PartId part) const;

  std::size_t types() const { return types_.size(); }
  /// Slots below it are of near rows.
  std::uint64_t far_begin(NodeTypeId type) const { return types_[raw(type)].far_begin; }
  /// Slots from it on are of staged rows.
  std::uint64_t staged_begin(NodeTypeId type) const { return types_[raw(type)].staged_begin; }

 private:
  struct OfType {
    std::vector<OfPiece> pieces;
    std::uint64_t far_begin = 0;
    std::uint64_t staged_begin = 0;
  };
  std::optional<std::size_t> place_of(PartId part) const;

  std::vector<PartId> parts_;
  std::vector<OfType> types_;
};

}  // namespace troupe
