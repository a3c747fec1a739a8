#pragma once
/// \file taken_positions.hpp
/// Which draws of the weighted choice are taken: those of entries that are not excluded, and without
/// replacement of those that were not taken before.
#include "runtime/sample/choice/choice.hpp"
#include "runtime/sample/id_index.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace troupe {

/// Positions of one stretch after the other; keeps its scratch.
/// Threads: one at a time
class TakenPositions {
 public:
  explicit TakenPositions(const ChoiceOptions& options)
      : fanout_(options.fanout), replace_(options.replace) {}

  /// \param out  [fanout] of which the first `count` are taken already
  void begin(std::span<const std::uint32_t> excluded, std::uint32_t* out, std::uint32_t count) {
    excluded_ = excluded;
    out_ = out;
    count_ = count;
    if (uses_table()) {
      known_.clear();
      std::ranges::for_each(std::span(out, count),
                            [this](auto entry) { known_.find_or_insert(entry, 0); });
    }
  }
  std::uint32_t count() const { return count_; }

  /// Takes an entry if it may be taken. \requires fewer than the fanout are taken
  void offer(std::uint32_t entry) {
    if (std::ranges::binary_search(excluded_, entry) || (!replace_ && has(entry))) {
      return;
    }
    out_[count_++] = entry;
    if (uses_table()) {
      known_.find_or_insert(entry, 0);
    }
  }

  static constexpr std::uint32_t few = 64;  ///< Up to here a loop over them beats a hash set

 private:
  bool uses_table() const { return !replace_ && fanout_ > few; }
  bool has(std::uint32_t entry) const {
    const std::span taken(out_, count_);
    return uses_table() ? known_.find(entry).has_value()
                        : std::ranges::find(taken, entry) != taken.end();
  }

  std::uint32_t fanout_;
  bool replace_;
  std::span<const std::uint32_t> excluded_;
  std::uint32_t* out_ = nullptr;
  std::uint32_t count_ = 0;
  IdIndex known_;
};

}  // namespace troupe
