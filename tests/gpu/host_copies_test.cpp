// Copies for the host in pinned memory that is used again.
#include "gpu/base/host_copies.hpp"

#include "gpu/base/emulated_device.hpp"
#include "tests/support/expect.hpp"

#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

namespace troupe::gpu {
namespace {

EmulatedStream stream() {
  return EmulatedStream(std::make_shared<EmulatedDevice>());
}

TEST(PinnedPool, GivesBlocksThatCameBackAgain) {
  auto on = stream();
  PinnedPool pool;
  std::optional<Array<std::byte>> one = pool.take(on, 100000);
  const auto two = pool.take(on, 100000);
  EXPECT_NE(one->data(), two.data());
  EXPECT_GE(one->size(), 100000U);
  EXPECT_LT(one->size(), 200000U);
  const auto* const place = one->data();
  one.reset();
  EXPECT_EQ(pool.take(on, 120000).data(), place);
  EXPECT_NE(pool.take(on, 300000).data(), place) << "too small";
  EXPECT_NE(pool.take(on, 10).data(), place) << "much too large";
}

TEST(PinnedPool, KeepsAsManyAsWereInUseAtATime) {
  auto on = stream();
  PinnedPool pool;
  std::set<const std::byte*> places;
  for (int round = 0; round < 50; ++round) {
    std::vector<Array<std::byte>> in_use;
    for (int i = 0; i < 1 + round % 4; ++i) {
      in_use.push_back(pool.take(on, 70000 + 1000 * static_cast<std::size_t>(round)));
      places.insert(in_use.back().data());
    }
  }
  EXPECT_LE(places.size(), 4U);
}

TEST(PinnedPool, BlocksOutliveIt) {
  auto on = stream();
  std::optional<PinnedPool> pool(std::in_place);
  const auto block = pool->take(on, 5);
  pool.reset();
  block.data()[4] = std::byte{7};
  EXPECT_EQ(block.data()[4], std::byte{7});
}

TEST(HostCopies, BringEachArrayInOrder) {
  auto on = stream();
  PinnedPool pool;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{5000}}) {
    std::vector<std::uint64_t> longs(size);
    std::iota(longs.begin(), longs.end(), 5U);
    const std::vector<std::uint32_t> ints{1, 2, 3};
    std::vector<float> rows(size * 3, 0.5F);
    const auto a = on.uploaded(std::span<const std::uint64_t>(longs));
    const auto b = on.uploaded(std::span<const std::uint32_t>(ints));
    const auto c = on.uploaded(std::span<const float>(rows));
    HostCopies copies;
    copies.add(a, size);
    copies.add(b, 2);
    copies.add(c, rows.size());
    copies.start(on, pool);
    ASSERT_OK(on.finish());
    std::vector<std::uint64_t> first;
    std::vector<std::uint32_t> second;
    copies.take(first);
    copies.take(second);
    const Segment third = copies.share();
    EXPECT_EQ(first, longs);
    EXPECT_EQ(second, (std::vector<std::uint32_t>{1, 2}));
    EXPECT_TRUE(std::ranges::equal(third.as<float>(), rows));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(third.bytes.data()) % 64, 0U);
  }
}

TEST(HostCopies, ASegmentKeepsItsMemory) {
  auto on = stream();
  PinnedPool pool;
  const std::vector<std::uint32_t> values(30000, 9);
  const auto array = on.uploaded(std::span<const std::uint32_t>(values));
  Segment kept;
  {
    HostCopies copies;
    copies.add(array, values.size());
    copies.start(on, pool);
    ASSERT_OK(on.finish());
    kept = copies.share();
  }
  const auto other = pool.take(on, values.size() * sizeof(std::uint32_t));
  EXPECT_NE(other.data(), kept.bytes.data());
  EXPECT_TRUE(std::ranges::equal(kept.as<std::uint32_t>(), values));
}

TEST(HostCopies, OfAFailedStreamAreNotMade) {
  auto on = stream();
  PinnedPool pool;
  const auto array = on.array<std::uint32_t>(4);
  on.fail({Errc::cuda_failure, "lost"});
  HostCopies copies;
  copies.add(array, 4);
  copies.start(on, pool);
  EXPECT_ERROR(on.finish(), Errc::cuda_failure, "lost");
}

}  // namespace
}  // namespace troupe::gpu
