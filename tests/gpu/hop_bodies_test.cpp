#include "gpu/sample/hop_bodies.hpp"

#include "gpu/base/emulated_device.hpp"
#include "gpu/sample/draw_few.hpp"
#include "runtime/sample/choice/uniform.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <sys/mman.h>

namespace troupe::gpu {
namespace {

/// Lists of some degrees; nobody reads their entries.
struct DegreesOnly {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint64_t> original_ids;
  std::vector<std::uint64_t> nodes;

  explicit DegreesOnly(const std::vector<std::uint64_t>& degrees) {
    for (const auto degree : degrees) {
      original_ids.push_back(0x123456789U + 0x9E3779B97F4A7C15U * nodes.size());
      nodes.push_back(nodes.size());
      offsets.push_back(offsets.back() + degree);
    }
  }
};

/// \param end  rows that there are, of those of the lists
template <class Draw>
std::vector<std::vector<std::uint32_t>> drawn_positions(const DegreesOnly& lists,
                                                        const ListRule& rule, StreamKey key,
                                                        std::uint32_t end,
                                                        EmulatedOptions options) {
  options.reads_host = true;
  EmulatedStream on(std::make_shared<EmulatedDevice>(options));
  const std::size_t bound = lists.nodes.size();
  const HopRows rows{lists.nodes.data(), lists.offsets.data(), 0, &end};
  std::vector<std::uint32_t> counts(bound);
  std::vector<std::uint32_t> row_offsets(bound + 1);
  on.for_each(bound, CountRow{rows, rule, counts.data()});
  on.running_sum(counts.data(), bound, row_offsets.data());
  EXPECT_TRUE(on.finish());
  std::vector<std::uint32_t> positions(row_offsets.back(), 0xA5A5A5A5U);
  on.for_each(
      end,
      Draw{rows, rule, {key, lists.original_ids.data(), row_offsets.data(), positions.data()}});
  EXPECT_TRUE(on.finish());
  std::vector<std::vector<std::uint32_t>> result;
  for (std::size_t row = 0; row < bound; ++row) {
    auto& of_row = result.emplace_back(positions.begin() + row_offsets[row],
                                       positions.begin() + row_offsets[row + 1]);
    if (row < end && rule.whole(rows.degree(row), counts[row])) {
      std::iota(of_row.begin(), of_row.end(), 0U);
    }
  }
  return result;
}

template <class Draw>
void expect_positions_of_host(const std::vector<std::uint32_t>& fanouts) {
  const std::vector<std::uint64_t> degrees{
      0,   1,    2,    3,         4,          5,          8,          9,         14,
      15,  16,   17,   31,        32,         33,         63,         64,        65,
      257, 1023, 1024, 123456789, 0x80000000, 0x80000001, 0xAAAAAAAB, 0xFFFFFFFF};
  const DegreesOnly lists(degrees);
  const auto rows = static_cast<std::uint32_t>(degrees.size());
  std::vector<std::uint32_t> expected;
  for (const bool replace : {false, true}) {
    for (const auto fanout : fanouts) {
      for (std::uint64_t batch = 0; batch < 20; ++batch) {
        const auto key = stream_key(9, {.domain = Domain::neighbours, .batch = batch});
        const EmulatedOptions options{.seed = batch, .threads = batch % 2 == 0 ? 1U : 4U};
        const auto got = drawn_positions<Draw>(lists, {.fanout = fanout, .replace = replace}, key,
                                               rows, options);
        for (std::size_t row = 0; row < rows; ++row) {
          draw_positions(DrawStream(key, lists.original_ids[row]),
                         static_cast<std::uint32_t>(degrees[row]), fanout, replace, expected);
          ASSERT_EQ(got[row], expected) << "degree " << degrees[row] << ", fanout " << fanout
                                        << ", replace " << replace << ", batch " << batch;
        }
      }
    }
  }
}

TEST(DrawRow, TakesThePositionsOfTheHost) {
  expect_positions_of_host<DrawRow>({1, 2, 4, 5, 15, 31, 32, 33, 64, 65, 1023});
}

TEST(DrawFew, TakesThePositionsOfTheHost) {
  expect_positions_of_host<DrawFew<4>>({1, 2, 3, 4});
  expect_positions_of_host<DrawFew<8>>({1, 3, 4, 5, 6, 7, 8});
  expect_positions_of_host<DrawFew<16>>({1, 2, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16});
}

/// Draws in registers, and counts those that DrawRow makes.
std::size_t left_to_draw_row(std::uint32_t degree, bool replace) {
  std::size_t left = 0;
  for (std::uint64_t id = 0; id < 1000; ++id) {
    FewPositions<16> positions;
    left += positions.draw(stream_key(5, {.domain = Domain::neighbours}), id, degree, 15, replace)
                ? 0U
                : 1U;
  }
  return left;
}

TEST(DrawFew, LeavesWordsThatMayBeRejected) {
  for (const bool replace : {false, true}) {
    EXPECT_LE(left_to_draw_row(1000, replace), 1U);
    // Of 15 words each is doubtful with a probability of degree / 2^32.
    EXPECT_NEAR(static_cast<double>(left_to_draw_row(0x08000000, replace)), 379.0, 60.0);
    EXPECT_GE(left_to_draw_row(0xFFFFFFFF, replace), 999U);
  }
}

TEST(CountRow, RowsPastTheEndHaveNothing) {
  const DegreesOnly lists({5, 5, 0, 5, 5});
  for (std::uint32_t end = 0; end <= 5; ++end) {
    const auto got = drawn_positions<DrawRow>(lists, {.all = true}, {}, end, {});
    for (std::size_t row = 0; row < got.size(); ++row) {
      EXPECT_EQ(got[row].size(), row < end && row != 2 ? 5U : 0U) << row << " of " << end;
    }
  }
}

TEST(RowOfEdge, SkipsRowsWithoutEdges) {
  const std::vector<std::uint32_t> row_offsets{0, 0, 3, 3, 3, 4, 9, 9};
  std::vector<std::size_t> rows;
  for (std::size_t edge = 0; edge < 9; ++edge) {
    rows.push_back(row_of_edge(row_offsets.data(), 7, edge));
  }
  EXPECT_EQ(rows, (std::vector<std::size_t>{1, 1, 1, 4, 5, 5, 5, 5, 5}));
}

/// Entries far behind the first 2^31 bytes: only those that are read are given memory.
TEST(TakeEntry, AddressesEntriesBehindTwoGibibytes) {
  constexpr std::uint64_t entries = (std::uint64_t{1} << 33) / sizeof(std::uint64_t) + 8;
  struct Unmap {
    void operator()(std::uint64_t* at) const { munmap(at, entries * sizeof(std::uint64_t)); }
  };
  void* const mapped = mmap(nullptr, entries * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const std::unique_ptr<std::uint64_t, Unmap> neighbours(static_cast<std::uint64_t*>(mapped));
  for (std::uint64_t k = 1; k <= 8; ++k) {
    neighbours.get()[entries - k] = (std::uint64_t{1} << 40) + k;
  }
  const DegreesOnly lists({entries - 8, 8});
  const std::uint32_t end = 2;
  const HopRows rows{lists.nodes.data() + 1, lists.offsets.data(), 1, &end};
  constexpr std::uint32_t bits = 4;
  std::vector<std::uint64_t> words(1U << bits, NodeTable<std::uint64_t>::empty);
  std::vector<std::uint32_t> values(1U << bits, ~std::uint32_t{0});
  const NodeTable<std::uint64_t> table{words.data(), values.data(), bits};
  const std::vector<std::uint32_t> row_offsets{0, 8};
  std::vector<std::uint32_t> slots(8);
  std::vector<std::uint64_t> taken(8);
  EmulatedStream on(std::make_shared<EmulatedDevice>(EmulatedOptions{.reads_host = true}));
  on.for_each(8, TakeEntry<std::uint64_t, NodeTable<std::uint64_t>>{rows,
                                                                    {.all = true},
                                                                    row_offsets.data(),
                                                                    1,
                                                                    neighbours.get(),
                                                                    table,
                                                                    {slots.data(), 100, 8},
                                                                    taken.data()});
  ASSERT_TRUE(on.finish());
  for (std::uint32_t k = 0; k < 8; ++k) {
    EXPECT_EQ(taken[k], entries - 8 + k);
    EXPECT_EQ(table.id(slots[k]), (std::uint64_t{1} << 40) + 8 - k);
    EXPECT_EQ(table.value(slots[k]), candidate_bit | (100 + k));
  }
}

}  // namespace
}  // namespace troupe::gpu
