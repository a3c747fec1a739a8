#pragma once
/// \file stretch.hpp
/// Which stretch of a neighbor list a node may take entries of: those of a time before its tree's.
#include "runtime/base/prefetch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
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
/// Lifecycle: begin(), add() for each list, search(), allowed(); keeps its memory
/// Threads:   one at a time
class StretchSearch {
 public:
  /// Forgets all lists. \param rule  of those that follow
  void begin(TimeRule rule) {
    rule_ = rule;
    searches_.clear();
  }
  /// \param times  of a list's entries, ascending
  void add(std::span<const std::int64_t> times, std::int64_t until) {
    add_bound(times, until, rule_.inclusive);
    if (rule_.window > 0) {
      constexpr auto first = std::numeric_limits<std::int64_t>::min();
      const auto window = static_cast<std::int64_t>(rule_.window);
      add_bound(times, until < first + window ? first : until - window, false);
    }
  }
  void search() {
    open_.resize(searches_.size());
    std::iota(open_.begin(), open_.end(), 0U);
    while (!open_.empty()) {
      std::size_t still_open = 0;
      for (const auto i : open_) {
        open_[still_open] = i;
        still_open += step(searches_[i]) ? 1U : 0U;
      }
      open_.resize(still_open);
    }
  }
  /// Of the list that was added as number `i`. Nothing where the window begins after its end.
  AllowedEntries allowed(std::size_t i) const {
    if (rule_.window == 0) {
      return {0, searches_[i].before};
    }
    const auto end = searches_[2 * i].before;
    return {std::min(searches_[2 * i + 1].before, end), end};
  }

 private:
  /// Of the number of entries earlier than `key`: `before` to `before` + `left`.
  struct Search {
    const std::int64_t* list;
    std::uint64_t before;
    std::uint64_t left;
    std::int64_t key;
  };

  /// \param after  searches the first entry after `key` instead
  void add_bound(std::span<const std::int64_t> times, std::int64_t key, bool after) {
    if (after && key == std::numeric_limits<std::int64_t>::max()) {
      searches_.push_back({times.data(), times.size(), 0, 0});
    } else {
      searches_.push_back({times.data(), 0, times.size(), key + (after ? 1 : 0)});
      prefetch(times.data() + times.size() / 2);
    }
  }

  /// No branch depends on what is found: it would be guessed wrong every other time.
  /// \returns whether there is more to do
  static bool step(Search& at) {
    if (at.left == 0) {
      return false;
    }
    const std::uint64_t half = at.left / 2;
    const auto earlier = std::uint64_t{at.list[at.before + half] < at.key};
    at.before += (half + 1) & (0U - earlier);
    at.left = half - (earlier & ~at.left & 1U);  // of an even number one less is behind the middle
    prefetch(at.list + at.before + at.left / 2);
    return at.left > 0;
  }

  TimeRule rule_;
  std::vector<Search> searches_;     ///< For each list: until; where there is a window, since
  std::vector<std::uint32_t> open_;  ///< Searches that are not done
};

}  // namespace troupe
