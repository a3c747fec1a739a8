// Blocks and threads of kernels, and loops whose loads are issued together.
#include "gpu/base/launch_shape.hpp"

#include "gpu/base/columns.hpp"
#include "gpu/nn/loads_ahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <numeric>
#include <utility>
#include <vector>

namespace troupe::gpu {
namespace {

/// How often for_rows_kernel's loops take each element.
std::vector<unsigned> visits(const RowsShape& shape, std::size_t rows, std::size_t cols) {
  std::vector<unsigned> times(rows * cols);
  const auto each_row = [&](std::size_t first_row, std::size_t first_col) {
    for (std::size_t r = first_row; r < rows; r += std::size_t{shape.blocks_down} * shape.down) {
      for (std::size_t c = first_col; c < cols;
           c += std::size_t{shape.blocks_across} * shape.across) {
        ++times[r * cols + c];
      }
    }
  };
  for (std::size_t r = 0; r < std::size_t{shape.blocks_down} * shape.down; ++r) {
    for (std::size_t c = 0; c < std::size_t{shape.blocks_across} * shape.across; ++c) {
      each_row(r, c);
    }
  }
  return times;
}

TEST(LaunchShape, TakesEachElementOnce) {
  for (const std::size_t rows : {1U, 2U, 7U, 72U, 513U}) {
    for (const std::size_t cols :
         {1U, 3U, 16U, 25U, 31U, 32U, 33U, 47U, 64U, 100U, 256U, 257U, 300U, 768U, 1000U}) {
      const RowsShape shape = shape_for_rows(rows, cols);
      const auto times = visits(shape, rows, cols);
      EXPECT_TRUE(std::ranges::all_of(times, [](unsigned n) { return n == 1; }))
          << rows << " rows, " << cols << " columns";
      EXPECT_LE(shape.across * shape.down, most_threads);
    }
  }
}

TEST(LaunchShape, GoesOnWhereTheBlocksEnd) {
  const RowsShape few{.across = 4, .down = 2, .blocks_across = 2, .blocks_down = 3};
  EXPECT_EQ(visits(few, 17, 19), std::vector<unsigned>(std::size_t{17} * 19, 1));
}

TEST(LaunchShape, StaysWithinTheLimitsOfGrids) {
  constexpr std::size_t huge = std::size_t{1} << 40;
  for (const auto& [rows, cols] : {std::pair{huge, std::size_t{1}}, {huge, 256}, {1, huge}}) {
    const RowsShape shape = shape_for_rows(rows, cols);
    EXPECT_LE(shape.blocks_down, 0x7FFFFFFFU);
    EXPECT_LE(shape.blocks_across, 65535U);
    EXPECT_LE(shape.across * shape.down, most_threads);
  }
  EXPECT_EQ(blocks_for(huge, 256, 1000), 1000U);
  EXPECT_EQ(blocks_for(257, 256, 1000), 2U);
}

/// Lanes of all warps that have an element, of those that there are.
double share_of_lanes(std::size_t rows, std::size_t cols) {
  const RowsShape shape = shape_for_rows(rows, cols);
  const std::size_t warps = (std::size_t{shape.across} * shape.down + 31) / 32;
  return static_cast<double>(rows * cols) /
         static_cast<double>(warps * 32 * shape.blocks_across * shape.blocks_down);
}

TEST(LaunchShape, FewLanesAreIdle) {
  for (const std::size_t cols : {1U, 2U, 3U, 8U, 12U, 16U, 25U, 32U, 47U, 64U, 100U, 256U, 512U}) {
    EXPECT_GT(share_of_lanes(100'000, cols), 0.85) << cols << " columns";
  }
}

TEST(LaunchShape, SmallKernelsHaveManyBlocks) {
  EXPECT_EQ(threads_for(0), 32U);
  EXPECT_EQ(threads_for(1000), 32U);
  EXPECT_EQ(threads_for(10'000'000), most_threads);
  const RowsShape chunks = shape_for_rows(72, 256);  // one step of a network's sums of columns
  EXPECT_GE(chunks.blocks_across * chunks.blocks_down, 264U);
  EXPECT_GE(shape_for_rows(1, 768).blocks_across, 24U);
}

struct Free {};
struct Ahead {
  static constexpr unsigned least_blocks = 3;
};
static_assert(least_blocks_of<Free>() == 0);
static_assert(least_blocks_of<Ahead>() == 3);

/// What a loop did: places are negative, loads are even, uses odd.
struct Log {
  std::vector<int> steps;
  void add(int step) { steps.push_back(step); }
};

template <unsigned Batch, unsigned Rest>
Log gathered(std::uint32_t begin, std::uint32_t end) {
  Log log;
  gather_in_order<Batch, Rest>(
      begin, end,
      [&log](std::uint32_t k) {
        log.add(-1 - static_cast<int>(k));
        return 10 * static_cast<int>(k);
      },
      [&log](std::uint32_t k, int place) {
        EXPECT_EQ(place, 10 * static_cast<int>(k));
        log.add(2 * static_cast<int>(k));
        return place + 1;
      },
      [&log](std::uint32_t k, int value) {
        EXPECT_EQ(value, 10 * static_cast<int>(k) + 1);
        log.add(2 * static_cast<int>(k) + 1);
      });
  return log;
}

/// Batches of these sizes, one after the other.
Log in_batches(std::uint32_t begin, const std::vector<std::uint32_t>& sizes) {
  Log log;
  for (const std::uint32_t size : sizes) {
    std::vector<int> batch(size);
    std::iota(batch.begin(), batch.end(), static_cast<int>(begin));
    for (const int k : batch) {
      log.add(-1 - k);
    }
    for (const int k : batch) {
      log.add(2 * k);
    }
    for (const int k : batch) {
      log.add(2 * k + 1);
    }
    begin += size;
  }
  return log;
}

TEST(LoadsAhead, AreThoseOfABatchAndOfNoElementOutside) {
  EXPECT_TRUE((gathered<8, 4>(5, 5).steps.empty()));
  EXPECT_EQ((gathered<8, 4>(5, 6).steps), in_batches(5, {1}).steps);
  EXPECT_EQ((gathered<8, 4>(0, 4).steps), in_batches(0, {4}).steps);
  EXPECT_EQ((gathered<8, 4>(3, 10).steps), in_batches(3, {4, 3}).steps);
  EXPECT_EQ((gathered<8, 4>(3, 11).steps), in_batches(3, {8}).steps);
  EXPECT_EQ((gathered<8, 4>(1, 29).steps), in_batches(1, {8, 8, 8, 4}).steps);
  EXPECT_EQ((gathered<4, 4>(0, 9).steps), in_batches(0, {4, 4, 1}).steps);
}

template <unsigned Batch, unsigned Rest>
void expect_order(std::size_t most) {
  for (std::size_t end = 0; end <= most; ++end) {
    for (std::size_t begin = 0; begin <= end; begin += 1 + end / 3) {
      std::vector<std::size_t> used;
      in_order<Batch, Rest>(
          begin, end,
          [&](std::size_t k) {
            EXPECT_LT(k, end);
            EXPECT_GE(k, begin);
            return static_cast<double>(k) / 2;
          },
          [&](std::size_t k, double half) {
            EXPECT_EQ(half, static_cast<double>(k) / 2);
            used.push_back(k);
          });
      std::vector<std::size_t> expected(end - begin);
      std::iota(expected.begin(), expected.end(), begin);
      EXPECT_EQ(used, expected) << begin << " to " << end;
    }
  }
}

TEST(LoadsAhead, AreUsedInOrder) {
  expect_order<32, 8>(131);
  expect_order<16, 8>(70);
  expect_order<4, 4>(20);
  expect_order<1, 1>(5);
}

TEST(Columns, AreReadAndWrittenTogether) {
  alignas(16) std::array<float, 8> memory = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto four = read_columns<4>(memory.data() + 4);
  EXPECT_EQ(four.of[0], 4);
  EXPECT_EQ(four.of[3], 7);
  put_columns(memory.data(), four, true);
  EXPECT_EQ(memory, (std::array<float, 8>{4, 6, 8, 10, 4, 5, 6, 7}));
  put_columns(memory.data(), four, false);
  put_columns(memory.data() + 5, read_columns<1>(memory.data()), true);
  EXPECT_EQ(memory, (std::array<float, 8>{4, 5, 6, 7, 4, 9, 6, 7}));
}

}  // namespace
}  // namespace troupe::gpu
