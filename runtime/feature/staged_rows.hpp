#pragma once
/// \file staged_rows.hpp
/// Rows of a batch on their way to a device that has some rows itself: where each row is, and those that
/// the device lacks, in one block of the host's memory. Knows no devices.
#include "runtime/base/buffer.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/feature/row_slots.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// One block: the slots of all types, then the staged rows of all types, as they are stored. Rows of one
/// type follow each other without padding; each array begins at a multiple of `alignment`.
struct StagedRows {
  static constexpr std::size_t alignment = 256;

  struct OfType {
    std::uint64_t rows = 0;  ///< Of the batch; 0: the type has no features
    std::size_t slots_begin = 0;
    std::uint64_t staged = 0;  ///< Rows among them
    std::size_t staged_begin = 0;
    std::uint64_t row_bytes = 0;
  };

  Buffer block;  ///< From the process's pool, whose large blocks a GPU's driver has pinned
  std::size_t size_bytes = 0;   ///< Used ones
  std::vector<OfType> types;    ///< By NodeTypeId
  std::uint64_t rows_near = 0;  ///< Rows that are in the device's memory
  std::uint64_t rows_far = 0;   ///< Rows that are in pinned memory of the host

  /// [rows of the type]; see RowSlots.
  std::span<std::uint64_t> slots(NodeTypeId type) const;
  /// [staged, row_bytes]
  std::span<std::byte> rows(NodeTypeId type) const;
};

/// Finds out where the rows of a batch are: each one gets its slot, and room where it is staged.
/// Lifecycle: construct; for each type, in ascending order, put() or stage() each of its rows once; take().
///   Staged rows are written at any time until take()
/// Threads:   one at a time
class RowStaging {
 public:
  /// Sizes of a type's rows in the batch.
  struct Type {
    std::uint64_t rows = 0;         ///< 0: no features are wanted of it
    std::uint64_t most_staged = 0;  ///< Upper bound of those that are staged
    std::uint64_t row_bytes = 0;
  };
  RowStaging(std::shared_ptr<const RowSlots> slots, std::span<const Type> types);

  const RowSlots& slots() const { return *slots_; }
  /// A row that the device has.
  void put(NodeTypeId type, std::uint32_t place, std::uint64_t slot);
  /// Rows that follow each other in the block, in the order of `places`.
  /// \returns their memory
  std::span<std::byte> stage(NodeTypeId type, std::span<const std::uint32_t> places);
  /// \requires all rows were put or staged, and staged ones written
  StagedRows take() &&;

 private:
  /// Staged rows of a type begin where those of the one before end.
  StagedRows::OfType& at(NodeTypeId type);

  std::shared_ptr<const RowSlots> slots_;
  StagedRows rows_;
  std::size_t type_ = 0;  ///< Whose rows are put
};

}  // namespace troupe
