#include "runtime/sample/stretch.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace troupe {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

std::pair<std::uint64_t, std::uint64_t> allowed(const std::vector<std::int64_t>& times,
                                                std::int64_t until, TimeRule rule = {}) {
  const auto found = allowed_entries(times, until, rule);
  return {found.begin, found.end};
}

using Pair = std::pair<std::uint64_t, std::uint64_t>;

TEST(AllowedEntries, EndBeforeTheTimeOrAfterAllEntriesAtIt) {
  const std::vector<std::int64_t> times = {-5, 1, 1, 1, 7};
  EXPECT_EQ(allowed(times, 1), Pair(0, 1));
  EXPECT_EQ(allowed(times, 1, {.inclusive = true}), Pair(0, 4));
  EXPECT_EQ(allowed(times, 7), Pair(0, 4));
  EXPECT_EQ(allowed(times, 8), Pair(0, 5));
  EXPECT_EQ(allowed(times, -5), Pair(0, 0));
  EXPECT_EQ(allowed(times, -6, {.inclusive = true}), Pair(0, 0));
  EXPECT_EQ(allowed({}, 3, {.inclusive = true, .window = 9}), Pair(0, 0));
}

TEST(AllowedEntries, BeginAtTheWindowsOtherEnd) {
  const std::vector<std::int64_t> times = {-5, 1, 1, 1, 7, 9};
  EXPECT_EQ(allowed(times, 7, {.window = 6}), Pair(1, 4));
  EXPECT_EQ(allowed(times, 7, {.window = 5}), Pair(4, 4)) << "an empty window";
  EXPECT_EQ(allowed(times, 7, {.inclusive = true, .window = 5}), Pair(4, 5));
  EXPECT_EQ(allowed(times, 100, {.window = 1}), Pair(6, 6));
}

TEST(AllowedEntries, TimesAtTheEndsOfTheirRangeDoNotWrap) {
  const std::vector<std::int64_t> times = {lowest, lowest + 1, 0, highest - 1, highest};
  constexpr std::uint64_t widest = highest;
  EXPECT_EQ(allowed(times, lowest, {.inclusive = true, .window = widest}), Pair(0, 1));
  EXPECT_EQ(allowed(times, lowest + 1, {.window = 5}), Pair(0, 1));
  EXPECT_EQ(allowed(times, -2, {.window = widest}), Pair(0, 2));
  EXPECT_EQ(allowed(times, 0, {.inclusive = true, .window = widest}), Pair(1, 3));
  EXPECT_EQ(allowed(times, highest, {.inclusive = true, .window = widest}), Pair(2, 5));
  EXPECT_EQ(allowed(times, highest, {.inclusive = true}), Pair(0, 5));
}

}  // namespace
}  // namespace troupe
