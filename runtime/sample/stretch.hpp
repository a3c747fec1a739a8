#pragma once
/// \file stretch.hpp
/// Which stretch of a neighbor list a node may take entries of: those of a time before its tree's.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace troupe {

/// What edges with times are allowed, for a tree of time T.
struct TimeRule {
  bool inclusive = false;    ///< Those at T too; else only earlier ones
  std::uint64_t window = 0;  ///< Not 0: none that are earlier than T - window. \requires < 2^63
};

/// Positions [begin, end) of a list.
struct AllowedEntries {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// \param times  of a list's entries, ascending
/// \cost  two binary searches
inline AllowedEntries allowed_entries(std::span<const std::int64_t> times, std::int64_t until,
                                      TimeRule rule) {
  const auto end = rule.inclusive ? std::ranges::upper_bound(times, until)
                                  : std::ranges::lower_bound(times, until);
  auto begin = times.begin();
  if (rule.window > 0) {
    constexpr auto first = std::numeric_limits<std::int64_t>::min();
    const auto window = static_cast<std::int64_t>(rule.window);
    const std::int64_t since = until < first + window ? first : until - window;
    begin = std::lower_bound(times.begin(), end, since);
  }
  return {static_cast<std::uint64_t>(begin - times.begin()),
          static_cast<std::uint64_t>(end - times.begin())};
}

}  // namespace troupe
