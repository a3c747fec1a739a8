#pragma once
/// \file sorting_network.hpp
/// Sorts many short lists of one length side by side: one list per lane of vectors.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace troupe {

/// Comparators, each a pair of places, the lower one first.
using SortingNetwork = std::vector<std::pair<std::uint8_t, std::uint8_t>>;

/// Comparators that sort `size` values (Batcher's odd-even merge sort: "Sorting networks and their
/// applications", AFIPS 1968). \requires size <= 256
inline SortingNetwork sorting_network(std::uint32_t size) {
  SortingNetwork network;
  for (std::uint32_t p = 1; p < size; p *= 2) {
    for (std::uint32_t k = p; k >= 1; k /= 2) {
      for (std::uint32_t j = k % p; j + k < size; j += 2 * k) {
        for (std::uint32_t i = j; i < std::min(j + k, size - k); ++i) {
          if (i / (p * 2) == (i + k) / (p * 2)) {
            network.emplace_back(static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i + k));
          }
        }
      }
    }
  }
  return network;
}

/// Sorts values[place], lane by lane.
template <class Words>
void sort_lanes(const SortingNetwork& network, Words* values) {
  for (const auto& [low, high] : network) {
    const Words a = values[low];
    const Words b = values[high];
    values[low] = a < b ? a : b;
    values[high] = a < b ? b : a;
  }
}

}  // namespace troupe
