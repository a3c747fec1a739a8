#pragma once
/// \file sort_pairs.hpp
/// A stable sort of numbers by their keys, as streams offer it.
#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

/// Keys with a number each, and where they go by ascending key, equal keys in their order.
struct PairsToSort {
  const std::uint32_t* keys;  ///< [count], below `end`
  const std::uint32_t* values;
  std::size_t count;
  std::uint32_t end;
  std::uint32_t* sorted_keys;
  std::uint32_t* sorted_values;
};

}  // namespace troupe::gpu
