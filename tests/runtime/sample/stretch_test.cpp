#include "runtime/sample/stretch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace troupe {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

std::pair<std::uint64_t, std::uint64_t> allowed(const std::vector<std::int64_t>& times,
                                                std::int64_t until, TimeRule rule = {}) {
  StretchSearch search;
  search.begin(rule);
  search.add(times, until);
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
      search.begin(rule);
      for (const auto& list : lists) {
        search.add(list, until);
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

TEST(AllowedEntries, OfListsOfAnySizeAreThoseOfABinarySearch) {
  std::uint64_t state = 11;
  const auto next = [&state](std::uint64_t end) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state >> 20U) % end);
  };
  StretchSearch search;
  for (const std::uint64_t size : {1U, 2U, 3U, 255U, 256U, 257U, 10'000U, 65'537U}) {
    std::vector<std::int64_t> times(size);
    std::ranges::generate(times, [&] { return next(size); });
    std::ranges::sort(times);
    for (const std::uint64_t window : {std::uint64_t{0}, std::uint64_t{1}, size / 3 + 1}) {
      std::vector<std::int64_t> until(200);
      std::ranges::generate(until, [&] { return next(size + 2) - 1; });
      search.begin({.inclusive = size % 2 == 0, .window = window});
      for (const auto time : until) {
        search.add(times, time);
      }
      search.search();
      for (std::size_t i = 0; i < until.size(); ++i) {
        const auto end = size % 2 == 0 ? std::ranges::upper_bound(times, until[i])
                                       : std::ranges::lower_bound(times, until[i]);
        const auto begin =
            window == 0 ? times.begin()
                        : std::min(end, std::ranges::lower_bound(
                                            times, until[i] - static_cast<std::int64_t>(window)));
        ASSERT_EQ(search.allowed(i).begin, begin - times.begin()) << "until " << until[i];
        ASSERT_EQ(search.allowed(i).end, end - times.begin()) << "until " << until[i];
      }
    }
  }
}

}  // namespace
}  // namespace troupe
