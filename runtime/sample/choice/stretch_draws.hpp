#pragma once
/// \file stretch_draws.hpp
/// Weighted draws from stretches of lists, by running sums of the weights.
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/prefetch.hpp"
#include "runtime/sample/choice/draws_by_sums.hpp"
#include "runtime/sample/choice/taken_positions.hpp"
#include "runtime/sample/choice/weighted.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Draws for some stretches at once. Each draw is a binary search. All searches make a step, then the next
/// one, so that a sum is loaded while the other searches make theirs.
/// Threads: one at a time; keeps its scratch
class StretchDraws {
 public:
  explicit StretchDraws(const ChoiceOptions& options)
      : options_(options),
        at_once_(options.fanout > TakenPositions::few ? 1
                                                      : searches / std::max(1U, options.fanout)),
        positions_(options) {}

  /// Sets `taken` of all stretches.
  /// \param out  [stretches, fanout] positions of each, ascending
  /// \requires stretches have sums and entries, more than the fanout if without replacement
  void draw(StreamKey key, std::span<Stretch* const> stretches, std::uint32_t* out) {
    for (std::size_t first = 0; first < stretches.size(); first += at_once_) {
      open_.clear();
      for (auto* stretch : stretches.subspan(first, std::min(at_once_, stretches.size() - first))) {
        open(key, *stretch, out);
        out += options_.fanout;
      }
      while (!open_.empty()) {
        make_draws();
        search();
        std::erase_if(open_, [this](List& list) { return take(list); });
      }
    }
  }

 private:
  static constexpr std::size_t searches = 512;  ///< At once: what the fastest cache has room for

  /// A stretch that has not enough positions yet.
  struct List {
    Stretch* stretch;
    DrawStream stream;
    std::uint64_t all;   ///< Sum of its weights
    std::uint32_t* out;  ///< Where its positions go
    std::uint64_t made = 0;
    std::size_t first = 0;   ///< Of its draws among draws_
    std::uint32_t left = 0;  ///< Entries that each of its searches may still find
  };
  /// A search for the first entry whose running sum exceeds `at`: `entry` or a later one.
  struct Draw {
    std::uint64_t at;
    std::uint32_t entry;
  };

  std::uint64_t most_draws(const Stretch& stretch) const {
    const bool all_count = options_.replace && stretch.excluded.empty();
    return all_count ? options_.fanout : weighted_draws(options_.fanout);
  }

  void open(StreamKey key, Stretch& stretch, std::uint32_t* out) {
    stretch.taken = 0;
    const auto all = stretch.weight_sums[stretch.entries - 1] - stretch.sum_before;
    if (all > 0 && options_.fanout > 0) {
      prefetch(stretch.weight_sums + stretch.entries / 2);
      open_.push_back({&stretch, DrawStream(key, stretch.original_id, stretch.tree), all, out});
    }
  }

  /// As many of each list as it needs positions.
  void make_draws() {
    draws_.clear();
    for (auto& list : open_) {
      const auto count = std::min<std::uint64_t>(options_.fanout - list.stretch->taken,
                                                 most_draws(*list.stretch) - list.made);
      list.first = draws_.size();
      list.left = list.stretch->entries;
      list.made += count;
      for (std::uint64_t k = 0; k < count; ++k) {
        draws_.push_back({list.stream.below64(list.all) + list.stretch->sum_before, 0});
      }
    }
  }
  std::span<Draw> draws_of(const List& list) {
    const auto* next = &list + 1;
    const auto end = next == open_.data() + open_.size() ? draws_.size() : next->first;
    return std::span(draws_).subspan(list.first, end - list.first);
  }

  void search() {
    for (bool more = true; more;) {
      more = false;
      for (auto& list : open_) {
        if (list.left > 1) {
          step(list);
          more = true;
        }
      }
    }
  }
  /// Halves what the searches of a list may find.
  void step(List& list) {
    const std::uint32_t half = list.left / 2;
    list.left -= half;
    const std::uint64_t before = list.stretch->sum_before;
    const std::uint64_t* const sums = list.stretch->weight_sums - 1;
    const std::uint32_t next_half = list.left / 2;
    for (Draw& draw : draws_of(list)) {
      // Modulo 2^64. No branch: it would be guessed wrong every other time.
      const auto later = std::uint32_t{sums[draw.entry + half] - before <= draw.at - before};
      draw.entry += half & (0U - later);
      prefetch(sums + draw.entry + next_half);
    }
  }

  /// \returns whether the list has all that it gives
  bool take(List& list) {
    auto& stretch = *list.stretch;
    positions_.begin(stretch.excluded, list.out, stretch.taken);
    for (const Draw& draw : draws_of(list)) {
      positions_.offer(draw.entry);
    }
    stretch.taken = positions_.count();
    if (stretch.taken < options_.fanout && list.made < most_draws(stretch)) {
      return false;
    }
    if (stretch.taken < options_.fanout) {
      left_.begin(stretch);
      stretch.taken = left_.complete(list.stream, options_, stretch.taken, list.out);
    }
    std::sort(list.out, list.out + stretch.taken);
    return true;
  }

  ChoiceOptions options_;
  std::size_t at_once_;  ///< Stretches
  TakenPositions positions_;
  DrawsBySums left_;
  std::vector<List> open_;
  PooledVector<Draw> draws_;  ///< Of all lists, list after list
};

}  // namespace troupe
