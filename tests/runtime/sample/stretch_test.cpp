#include "runtime/sample/stretch.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace troupe {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

std::pair<std::uint64_t, std::uint64_t> allowed(const std::vector<std::int64_t>& times,
                                                std::int64_t until, TimeRule rule = {}) {
  StretchSearch search;
  search.add(times, until, rule);
  search.search();
  return {search.allowed(0).begin, search.allowed(0).end};
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

TEST(AllowedEntries, ManyListsAreSearchedAtOnce) {
  std::vector<std::vector<std::int64_t>> lists;
  for (std::int64_t size = 0; size < 130; ++size) {
    auto& list = lists.emplace_back();
    for (std::int64_t i = 0; i < size; ++i) {
      list.push_back(i * 3 / 2 - 50);  // some twice
    }
  }
  StretchSearch search;
  for (const auto rule : {TimeRule{}, TimeRule{.inclusive = true}, TimeRule{.window = 9},
                          TimeRule{.inclusive = true, .window = 30}}) {
    for (const std::int64_t until : {-60, -50, -49, 0, 1, 70, 1000}) {
      search.clear();
      for (const auto& list : lists) {
        search.add(list, until, rule);
      }
      search.search();
      for (std::size_t i = 0; i < lists.size(); ++i) {
        const auto found = search.allowed(i);
        ASSERT_LE(found.begin, found.end);
        for (std::size_t k = 0; k < lists[i].size(); ++k) {
          const auto age = until - lists[i][k];
          const bool is_allowed =
              (rule.inclusive ? age >= 0 : age > 0) &&
              (rule.window == 0 || age <= static_cast<std::int64_t>(rule.window));
          ASSERT_EQ(k >= found.begin && k < found.end, is_allowed)
              << "list of " << i << ", entry " << k << ", until " << until;
        }
      }
    }
  }
}

}  // namespace
}  // namespace troupe
