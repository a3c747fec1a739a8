#include "runtime/base/pooled_vector.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

TEST(PooledVector, HasTheContentsOfAVector) {
  PooledVector<std::uint32_t> pooled;
  std::vector<std::uint32_t> plain;
  for (std::uint32_t i = 0; i < 100'000; ++i) {  // grows from small blocks into pooled ones
    pooled.push_back(i * i);
    plain.push_back(i * i);
  }
  EXPECT_EQ(pooled, plain);
  EXPECT_EQ(plain, pooled);
  pooled.back() ^= 1U;
  EXPECT_NE(pooled, plain);
  pooled.pop_back();
  EXPECT_NE(pooled, plain);
}

TEST(PooledVector, MovesItsBlock) {
  PooledVector<std::uint64_t> from(20'000, 7);
  const auto* data = from.data();

  const PooledVector<std::uint64_t> to = std::move(from);

  EXPECT_EQ(to.data(), data);
  EXPECT_EQ(std::accumulate(to.begin(), to.end(), std::uint64_t{0}), 140'000U);
}

TEST(PooledVector, ReturnsLargeBlocksToThePoolFromAnyThread) {
  constexpr std::size_t bytes = std::size_t{5} << 20;
  PooledVector<std::byte> large(bytes);
  const auto* data = large.data();
  const auto before = buffer_pool_stats();

  std::thread([dropped = std::move(large)] {}).join();

  const PooledVector<std::byte> again(bytes);
  EXPECT_EQ(again.data(), data);
  EXPECT_EQ(buffer_pool_stats().fresh_blocks, before.fresh_blocks);
}

TEST(PooledVector, LeavesSmallBlocksToTheSystem) {
  const auto before = buffer_pool_stats();
  { const PooledVector<std::byte> small(smallest_pooled_block - 1); }
  EXPECT_EQ(buffer_pool_stats().kept_bytes, before.kept_bytes);
  EXPECT_EQ(buffer_pool_stats().fresh_blocks, before.fresh_blocks);
  { const PooledVector<std::byte> large(smallest_pooled_block); }
  EXPECT_GE(buffer_pool_stats().kept_bytes, smallest_pooled_block);
}

TEST(PooledVector, SharesBlocksWithBuffers) {
  constexpr std::size_t bytes = std::size_t{7} << 20;
  const void* block = nullptr;
  {
    const Buffer buffer(bytes);
    block = buffer.data();
  }
  const PooledVector<float> vector(bytes / sizeof(float));
  EXPECT_EQ(vector.data(), block);
}

}  // namespace
}  // namespace troupe
