#pragma once
/// \file draws_by_sums.hpp
/// The last draws of the weighted choice, where those by tables or running sums were in vain too often.
#include "runtime/base/alias_table.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/sample/choice/choice.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// Draws from a list by sums of the weights that are left, where too many draws by its table were in
/// vain; keeps its scratch. A list is read once, a draw takes the logarithm of its length.
class DrawsBySums {
 public:
  /// Everything is left but the positions of `excluded`.
  void begin(std::span<const AliasSlot> aliases, std::span<const std::uint32_t> excluded) {
    alias_units(aliases, units_);
    leave_out(excluded);
  }
  void begin(const Stretch& stretch) {
    units_.assign(stretch.weight_sums, stretch.weight_sums + stretch.entries);
    std::adjacent_difference(units_.begin(), units_.end(), units_.begin());
    units_.front() -= stretch.sum_before;
    leave_out(stretch.excluded);
  }
  /// Adds positions to the first `taken` of `out` until there are as many as the fanout, or nothing is left.
  /// \returns how many there are
  std::uint32_t complete(DrawStream& stream, const ChoiceOptions& options, std::uint32_t taken,
                         std::uint32_t* out) {
    if (!options.replace) {
      std::ranges::for_each(std::span(out, taken), [this](auto entry) { take_out(entry); });
    }
    for (; taken < options.fanout && left_ > 0; ++taken) {
      out[taken] = draw(stream);
      if (!options.replace) {
        take_out(out[taken]);
      }
    }
    return taken;
  }

 private:
  void leave_out(std::span<const std::uint32_t> excluded) {
    std::ranges::for_each(excluded, [this](auto entry) { units_[entry] = 0; });
    left_ = std::accumulate(units_.begin(), units_.end(), std::uint64_t{0});
    sums_.assign(units_.size() + 1, 0);
    for (std::size_t i = 1; i < sums_.size(); ++i) {
      sums_[i] += units_[i - 1];
      if (const auto next = after(i); next < sums_.size()) {
        sums_[next] += sums_[i];
      }
    }
  }
  void take_out(std::uint32_t entry) {
    const auto units = std::exchange(units_[entry], 0);
    left_ -= units;
    for (std::size_t i = entry + std::size_t{1}; units > 0 && i < sums_.size(); i = after(i)) {
      sums_[i] -= units;
    }
  }
  /// The first entry at which the sum of units is above a draw. \requires something is left
  std::uint32_t draw(DrawStream& stream) const {
    std::uint64_t below = stream.below64(left_);
    std::size_t entry = 0;
    for (std::size_t step = std::bit_floor(units_.size()); step > 0; step /= 2) {
      if (entry + step < sums_.size() && sums_[entry + step] <= below) {
        entry += step;
        below -= sums_[entry];
      }
    }
    return static_cast<std::uint32_t>(entry);
  }
  /// The next longer sum that ends at or behind place `i`.
  static std::size_t after(std::size_t i) { return i + (i & (~i + 1)); }

  std::vector<std::uint64_t> units_;
  /// Fenwick tree: at place i the sum of as many units that end with entry i - 1 as the lowest bit of i says.
  std::vector<std::uint64_t> sums_;
  std::uint64_t left_ = 0;
};

}  // namespace troupe
