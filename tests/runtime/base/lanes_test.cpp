#include "runtime/base/lanes.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

template <class T>
class LanesOf : public ::testing::Test {};
template <std::size_t Bytes>
using Width = std::integral_constant<std::size_t, Bytes>;
// What is wider than the processor's vectors is put together from narrower ones.
using Widths = ::testing::Types<Width<16>, Width<32>, Width<64>>;
TYPED_TEST_SUITE(LanesOf, Widths);

/// Numbers of all sizes, the highest and the lowest among them.
std::uint32_t word(std::uint64_t i) {
  constexpr std::array borders{0U, 1U, 2U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFEU, 0xFFFFFFFFU};
  return i % 3 == 0 ? borders[i / 3 % borders.size()]
                    : static_cast<std::uint32_t>(i * 0x9E3779B97F4A7C15U >> (i % 32));
}

TYPED_TEST(LanesOf, MultiplyAsWordsDo) {
  constexpr std::size_t bytes = TypeParam::value;
  for (std::uint64_t round = 0; round < 200; ++round) {
    typename Lanes<bytes>::Words a = {};
    typename Lanes<bytes>::Words b = {};
    for (std::size_t lane = 0; lane < Lanes<bytes>::count; ++lane) {
      a[lane] = word(round * 31 + lane);
      b[lane] = word(round * 17 + 5 * lane);
    }
    const auto products = multiply<bytes>(a, b);
    for (std::size_t lane = 0; lane < Lanes<bytes>::count; ++lane) {
      const std::uint64_t expected = std::uint64_t{a[lane]} * b[lane];
      ASSERT_EQ(products.high[lane], expected >> 32) << a[lane] << " x " << b[lane];
      ASSERT_EQ(products.low[lane], static_cast<std::uint32_t>(expected));
    }
  }
}

TYPED_TEST(LanesOf, GiveTheBlocksOfPhilox) {
  constexpr std::size_t bytes = TypeParam::value;
  for (std::uint32_t round = 0; round < 100; ++round) {
    const PhiloxKey key{word(round), word(round + 1)};
    std::array<BlockLanes<bytes>, 2> counters{};
    for (std::size_t lane = 0; lane < Lanes<bytes>::count; ++lane) {
      for (std::size_t i = 0; i < 8; ++i) {
        counters[i / 4][i % 4][lane] = word(round * 13 + lane * (2 * i + 1));
      }
    }
    auto blocks = counters;
    philox_lanes<bytes>(key, blocks);
    for (std::size_t lane = 0; lane < Lanes<bytes>::count; ++lane) {
      for (std::size_t v = 0; v < counters.size(); ++v) {
        const auto& c = counters[v];
        const auto expected = philox4x32_10({c[0][lane], c[1][lane], c[2][lane], c[3][lane]}, key);
        for (std::size_t i = 0; i < 4; ++i) {
          ASSERT_EQ(blocks[v][i][lane], expected[i]) << "vector " << v << ", lane " << lane;
        }
      }
    }
  }
}

}  // namespace
}  // namespace troupe
