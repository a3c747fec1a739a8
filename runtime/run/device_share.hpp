#pragma once
/// \file device_share.hpp
/// What exact inference may take of the devices of a process.
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace troupe {

/// Half of the share is for rows that the blocks of a stage read where they lie, half for one block.
struct DeviceShare {
  std::size_t devices = 1;       ///< That compute blocks, each its own
  std::uint64_t bytes = 0;       ///< Of the memory of each
  std::size_t product_rows = 0;  ///< Of their operations (BlockOps::product_rows())

  std::uint64_t resident_bytes() const { return bytes / 2; }
  std::uint64_t block_bytes() const { return bytes - resident_bytes(); }
  /// What nodes and edges of a block may take. \param wanted  at most \param fixed  of any block
  std::uint64_t bytes_of_block(std::uint64_t wanted, std::uint64_t fixed) const {
    return std::min(wanted, block_bytes() - std::min(fixed, block_bytes()));
  }
};

}  // namespace troupe
