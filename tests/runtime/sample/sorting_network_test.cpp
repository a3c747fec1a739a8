#include "runtime/sample/choice/sorting_network.hpp"

#include "runtime/base/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace troupe {
namespace {

TEST(SortingNetwork, SortsEverySequenceOfZerosAndOnes) {
  for (std::uint32_t size = 1; size <= 12; ++size) {
    const auto network = sorting_network(size);
    for (std::uint32_t bits = 0; bits < 1U << size; ++bits) {  // Knuth: these decide for all
      std::vector<std::uint32_t> values(size);
      for (std::uint32_t i = 0; i < size; ++i) {
        values[i] = bits >> i & 1;
      }
      for (const auto& [low, high] : network) {
        if (values[low] > values[high]) {
          std::swap(values[low], values[high]);
        }
      }
      ASSERT_TRUE(std::ranges::is_sorted(values)) << size << " values, bits " << bits;
    }
  }
}

TEST(SortingNetwork, SortsLongSequences) {
  for (std::uint32_t size = 13; size <= 144; ++size) {
    const auto network = sorting_network(size);
    for (std::uint32_t round = 0; round < 100; ++round) {
      std::vector<std::uint32_t> values(size);
      for (std::uint32_t i = 0; i < size; ++i) {
        values[i] = philox4x32_10({i, round, size, 0}, {1, 2})[0] >> (round % 32);
      }
      for (const auto& [low, high] : network) {
        if (values[low] > values[high]) {
          std::swap(values[low], values[high]);
        }
      }
      ASSERT_TRUE(std::ranges::is_sorted(values)) << size << " values, round " << round;
    }
  }
}

TEST(SortingNetwork, SortsLaneByLane) {
  using Words = Lanes<vector_bytes>::Words;
  constexpr std::size_t lanes = Lanes<vector_bytes>::count;
  constexpr std::size_t size = 21;
  std::array<Words, size> values;
  std::array<std::array<std::uint32_t, size>, lanes> expected;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    for (std::size_t i = 0; i < size; ++i) {
      expected[lane][i] = philox4x32_10({static_cast<std::uint32_t>(i)}, {7, 8})[lane % 4] %
                          static_cast<std::uint32_t>(lane + 2);
      values[i][lane] = expected[lane][i];
    }
    std::ranges::sort(expected[lane]);
  }
  sort_lanes(sorting_network(size), values.data());
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(values[i][lane], expected[lane][i]) << "lane " << lane << ", place " << i;
    }
  }
}

}  // namespace
}  // namespace troupe
