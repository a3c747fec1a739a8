#pragma once
/// \file stretch.hpp
/// Which stretch of a neighbor list a node may take entries of: those of a time before its tree's.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

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

/// Finds the allowed entries of many lists at once. Each search makes one step, then the next search its
/// own: an entry is loaded while the other searches make theirs.
/// Lifecycle: clear(), add() for each list, search(), allowed(); keeps its memory
/// Threads:   one at a time
class StretchSearch {
 public:
  void clear() { searches_.clear(); }
  /// \param times  of a list's entries, ascending
  void add(std::span<const std::int64_t> times, std::int64_t until, TimeRule rule) {
    add_bound(times, until, rule.inclusive);
    if (rule.window > 0) {
      constexpr auto first = std::numeric_limits<std::int64_t>::min();
      const auto window = static_cast<std::int64_t>(rule.window);
      add_bound(times, until < first + window ? first : until - window, false);
    } else {
      searches_.push_back({times.data(), times.data(), 0, 0});
    }
  }
  void search() {
    for (bool open = true; open;) {
      open = false;
      for (auto& at : searches_) {
        open = step(at) || open;
      }
    }
  }
  /// Of the list that was added as number `i`. Nothing where the window begins after its end.
  AllowedEntries allowed(std::size_t i) const {
    const auto& until = searches_[2 * i];
    const auto& since = searches_[2 * i + 1];
    const auto end = static_cast<std::uint64_t>(until.next - until.list);
    return {std::min(static_cast<std::uint64_t>(since.next - since.list), end), end};
  }

 private:
  /// Of the first entry at `key` or later: it is in [next, next + left].
  struct Search {
    const std::int64_t* list;
    const std::int64_t* next;
    std::uint64_t left;
    std::int64_t key;
  };

  /// \param after  searches the first entry after `key` instead
  void add_bound(std::span<const std::int64_t> times, std::int64_t key, bool after) {
    if (after && key == std::numeric_limits<std::int64_t>::max()) {
      searches_.push_back({times.data(), times.data() + times.size(), 0, 0});
    } else {
      searches_.push_back({times.data(), times.data(), times.size(), key + (after ? 1 : 0)});
      __builtin_prefetch(times.data() + times.size() / 2);
    }
  }

  /// \returns whether there is more to do
  static bool step(Search& at) {
    if (at.left == 0) {
      return false;
    }
    const std::uint64_t half = at.left / 2;
    const bool earlier = at.next[half] < at.key;
    at.next += earlier ? half + 1 : 0;
    at.left = earlier ? at.left - half - 1 : half;
    __builtin_prefetch(at.next + at.left / 2);
    return at.left > 0;
  }

  std::vector<Search> searches_;  ///< Two for each list: until, since
};

}  // namespace troupe
