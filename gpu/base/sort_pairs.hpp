#pragma once
/// \file sort_pairs.hpp
/// A stable sort of numbers by their keys on a stream.
#include "gpu/base/shared.hpp"

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

struct TakePair {
  PairsToSort pairs;
  const std::uint32_t* order;
  TROUPE_HD void operator()(std::size_t k) const {
    pairs.sorted_keys[k] = pairs.keys[order[k]];
    pairs.sorted_values[k] = pairs.values[order[k]];
  }
};

/// For streams that have no sort of pairs; CudaStream has one.
template <class Stream>
void sort_pairs(Stream& on, const PairsToSort& pairs) {
  const auto order = on.template array<std::uint32_t>(pairs.count);
  on.stable_order(pairs.keys, pairs.count, pairs.end, order.data());
  on.for_each(pairs.count, TakePair{pairs, order.data()});
}

}  // namespace troupe::gpu
