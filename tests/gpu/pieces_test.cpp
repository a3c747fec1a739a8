#include "gpu/sample/pieces.hpp"

#include "gpu/base/emulated_device.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::gpu {
namespace {

TEST(MakeArrays, CutsAlignedPiecesThatDoNotOverlap) {
  const auto device = std::make_shared<EmulatedDevice>();
  EmulatedStream on(device);
  std::vector<Array<std::uint64_t>> longs(4);
  std::vector<Array<std::byte>> bytes(4);
  const std::vector<std::size_t> sizes{1, 0, 32, 33};
  for (const auto memory : {Memory::separate, Memory::one_block}) {
    make_arrays(on, memory, [&](const auto& each) {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        each(longs[i], sizes[i]);
        each(bytes[i], sizes[i]);
      }
    });
    ASSERT_OK(on.finish());
    std::vector<std::pair<std::uintptr_t, std::size_t>> places;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_EQ(longs[i].size(), sizes[i]);
      EXPECT_EQ(bytes[i].size(), sizes[i]);
      if (sizes[i] > 0) {
        places.emplace_back(reinterpret_cast<std::uintptr_t>(longs[i].data()), 8 * sizes[i]);
        places.emplace_back(reinterpret_cast<std::uintptr_t>(bytes[i].data()), sizes[i]);
      }
    }
    std::ranges::sort(places);
    for (std::size_t i = 0; i < places.size(); ++i) {
      EXPECT_EQ(places[i].first % 256, 0U);
      EXPECT_TRUE(i == 0 || places[i - 1].first + places[i - 1].second <= places[i].first);
    }
  }
  // The last piece keeps the block, and gives it back.
  longs = {};
  bytes.resize(1);
  ASSERT_OK(on.finish());
  EXPECT_EQ(device->memory().used_bytes(), 7U * 256);
  bytes = {};
  ASSERT_OK(on.finish());
  EXPECT_EQ(device->memory().used_bytes(), 0U);
}

}  // namespace
}  // namespace troupe::gpu
