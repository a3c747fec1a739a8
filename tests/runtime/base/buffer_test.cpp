#include "runtime/base/buffer.hpp"

#include "tests/support/expect.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

namespace troupe {
namespace {

TEST(Buffer, IsAlignedAndLargeEnoughForEverySize) {
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 4095U, 4096U, 6144U, 6145U, 1U << 20}) {
    const Buffer buffer(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U) << size;
    std::ranges::fill(buffer.bytes(), std::byte{0x5A});  // the address sanitizer checks the end
  }
}

TEST(Buffer, ReusesFreedBlocksOfItsSizeClass) {
  const std::byte* before = nullptr;
  {
    const Buffer first(100'000);
    before = first.data();
  }
  const Buffer second(120'000);  // both need 2^17 bytes
  EXPECT_EQ(second.data(), before);
}

TEST(Buffer, APoolHitTakesTheBlockOutOfThePool) {
  { const Buffer warm(std::size_t{1} << 20); }
  const auto kept = buffer_pool_stats().kept_bytes;
  {
    const Buffer hit(std::size_t{1} << 20);
    EXPECT_EQ(buffer_pool_stats().kept_bytes, kept - (std::size_t{1} << 20));
  }
  EXPECT_EQ(buffer_pool_stats().kept_bytes, kept);
}

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Blocks that are in use at once, which nobody writes to.
void use_at_once(std::size_t blocks, std::size_t bytes) {
  std::vector<Buffer> many;
  for (std::size_t i = 0; i < blocks; ++i) {
    many.emplace_back(bytes);
  }
}

/// Uses enough small blocks for a peak of use to be of no account.
void forget_peaks() {
  for (int i = 0; i < 400'000; ++i) {
    const Buffer small(4096);
  }
}

TEST(Buffer, ThePoolKeepsBlocksThatWereInUseAtOnce) {
  constexpr std::size_t blocks = 2 * pool_limit_bytes / (32 * mebibyte);
  use_at_once(blocks, 32 * mebibyte);
  const auto after_first = buffer_pool_stats();

  use_at_once(blocks, 32 * mebibyte);

  EXPECT_GE(after_first.kept_bytes, 2 * pool_limit_bytes);
  EXPECT_EQ(buffer_pool_stats().fresh_blocks, after_first.fresh_blocks);
  EXPECT_LE(buffer_pool_stats().kept_bytes, buffer_pool_stats().limit_bytes);
}

TEST(Buffer, BlocksInUseAndThoseKeptAreTogetherNoMoreThanThePeak) {
  forget_peaks();
  use_at_once(2 * pool_limit_bytes / (32 * mebibyte), 32 * mebibyte);
  const auto peak = buffer_pool_stats().kept_bytes;

  const Buffer unlike_them(pool_limit_bytes / 2);

  EXPECT_LE(buffer_pool_stats().limit_bytes, peak - pool_limit_bytes / 2);
  { const Buffer returned(4096); }  // which trims the pool
  EXPECT_LE(buffer_pool_stats().kept_bytes + unlike_them.size(), peak);
}

TEST(Buffer, APeakOfUseIsForgotten) {
  use_at_once(2 * pool_limit_bytes / (32 * mebibyte), 32 * mebibyte);

  forget_peaks();

  EXPECT_EQ(buffer_pool_stats().limit_bytes, pool_limit_bytes);
  EXPECT_LE(buffer_pool_stats().kept_bytes, pool_limit_bytes);
}

TEST(Buffer, AFullPoolMakesRoomForTheSizesThatAreInUse) {
  use_at_once(2 * pool_limit_bytes / (8 * mebibyte), 8 * mebibyte);
  forget_peaks();
  const auto limit = buffer_pool_stats().limit_bytes;
  { const Buffer unlike_them(3 * mebibyte); }
  const auto fresh = buffer_pool_stats().fresh_blocks;

  { const Buffer again(3 * mebibyte); }

  EXPECT_EQ(buffer_pool_stats().fresh_blocks, fresh) << "the block was kept, old ones went";
  EXPECT_LE(buffer_pool_stats().kept_bytes, limit);
  EXPECT_GT(buffer_pool_stats().kept_bytes, limit - 8 * mebibyte);
}

TEST(Buffer, FreshBlocksAreCounted) {
  constexpr std::size_t size = 5 << 12;  // of a class that no other test uses
  const auto before = buffer_pool_stats().fresh_blocks;
  {
    const Buffer first(size);
    const Buffer second(size);
    EXPECT_EQ(buffer_pool_stats().fresh_blocks, before + 2);
  }
  const Buffer third(size);
  EXPECT_EQ(buffer_pool_stats().fresh_blocks, before + 2);
}

TEST(Buffer, FreezingCopiesNothingAndEmptiesTheBuffer) {
  Buffer buffer(5000);
  buffer.as<std::uint32_t>()[7] = 77;
  const auto* data = buffer.data();

  const Segment segment = std::move(buffer).freeze();

  EXPECT_EQ(segment.bytes.data(), data);
  EXPECT_EQ(segment.bytes.size(), 5000U);
  EXPECT_EQ(segment.as<std::uint32_t>()[7], 77U);
  EXPECT_EQ(buffer.size(), 0U);  // NOLINT(bugprone-use-after-move)
}

TEST(Buffer, ASegmentKeepsItsBlockWhileACopyLives) {
  Segment copy;
  {
    Buffer buffer(8192);
    std::ranges::fill(buffer.bytes(), std::byte{3});
    copy = std::move(buffer).freeze();
  }
  const Buffer other(8192);
  std::ranges::fill(other.bytes(), std::byte{9});
  EXPECT_EQ(copy.bytes[8191], std::byte{3});
}

TEST(Buffer, BlocksMayBeFreedOnOtherThreads) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) {
        auto buffer = std::make_shared<Buffer>(std::size_t{1} << (12 + i % 5));
        std::jthread([buffer] { buffer->data()[0] = std::byte{1}; });
      }
    });
  }
}

std::atomic<std::size_t> blocks_came = 0;
std::atomic<std::size_t> blocks_gone = 0;

TEST(Buffer, AnObserverIsToldOfLargeBlocksOfWholePages) {
  static constexpr PoolObserver observer{
      .least_bytes = 70000,
      .most_bytes = std::size_t{40} << 20,
      .came =
          [](std::byte* block, std::size_t bytes) noexcept {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 4096, 0U);
            EXPECT_EQ(bytes % 4096, 0U);
            block[0] = block[bytes - 1] = std::byte{1};
            ++blocks_came;
          },
      .goes =
          [](std::byte* block, std::size_t bytes) noexcept {
            block[0] = block[bytes - 1] = std::byte{2};
            ++blocks_gone;
          }};
  const auto came = [&](std::size_t bytes) {
    const std::size_t before = blocks_came;
    const auto fresh = buffer_pool_stats().fresh_blocks;
    std::vector<Buffer> kept;
    while (buffer_pool_stats().fresh_blocks == fresh) {  // until the pool has no more of the size
      kept.emplace_back(bytes);
    }
    return blocks_came - before;
  };
  observe_pool(&observer);
  EXPECT_EQ(came(5000), 0U);
  EXPECT_EQ(came(66000), 1U) << "a block of 98304 bytes";
  EXPECT_EQ(came(3 << 20), 1U);
  EXPECT_EQ(came(std::size_t{60} << 20), 0U);
  EXPECT_GT(came(std::size_t{30} << 20), 0U);
  // More than the pool keeps of blocks that were not in use of late: others go.
  std::vector<Buffer> many;
  for (int i = 0; i < 12; ++i) {
    many.emplace_back(std::size_t{30} << 20);
  }
  many.clear();
  forget_peaks();
  EXPECT_GT(blocks_gone, 0U);
  observe_pool(nullptr);
  EXPECT_EQ(came(3 << 20), 0U);
}

TEST(Segment, TakesOverAVector) {
  std::vector<std::uint64_t> values = {1, 2, 3};
  const auto* data = values.data();
  const Segment segment = Segment::of(std::move(values));
  EXPECT_EQ(segment.as<std::uint64_t>().data(), data);
  EXPECT_EQ(segment.as<std::uint64_t>().size(), 3U);
  EXPECT_FALSE(segment.empty());
  EXPECT_TRUE(Segment{}.empty());
}

}  // namespace
}  // namespace troupe
