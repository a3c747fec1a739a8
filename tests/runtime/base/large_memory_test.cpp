#include "runtime/base/large_memory.hpp"

#include "tests/support/expect.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>

namespace troupe {
namespace {

TEST(LargeMemory, IsAlignedAndCanBeWrittenWhole) {
  for (const std::size_t bytes : {1UL, 64UL, (2UL << 20) - 1, 2UL << 20, (5UL << 20) + 3}) {
    const auto memory = allocate_large(bytes);
    ASSERT_NE(memory, nullptr);
    const auto alignment = bytes < 2UL << 20 ? 64U : 2U << 20;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % alignment, 0U) << bytes;
    std::ranges::fill(std::span(memory.get(), bytes), std::byte{7});
  }
}

TEST(LargeMemory, AnArrayKeepsWhatItIsGiven) {
  constexpr std::size_t size = 1'000'003;
  const auto array = large_array<std::uint64_t>(size);
  std::iota(array.get(), array.get() + size, std::uint64_t{0});
  for (const std::size_t i : {0UL, 1UL, 500'000UL, size - 1}) {
    EXPECT_EQ(array.get()[i], i);
  }
}

TEST(LargeMemory, MoreThanThereIsIsRefused) {
  constexpr std::size_t size = std::size_t{1} << 57;  // beyond what addresses reach
  EXPECT_EQ(allocate_large(size), nullptr);
  EXPECT_EQ(try_large_array<std::uint32_t>(size / 4), nullptr);
  EXPECT_THROW(large_array<std::uint32_t>(size / 4), std::bad_alloc);
}

}  // namespace
}  // namespace troupe
