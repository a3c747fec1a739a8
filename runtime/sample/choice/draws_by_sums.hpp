#pragma once
/// \file draws_by_sums.hpp
/// The last draws of the weighted choice, where those by tables or running sums were in vain too often.
#include "runtime/base/alias_table.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/sample/choice/choice.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// Draws from a list by sums of the weights that are left, where too many draws by its table were in
/// vain; keeps its scratch.
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
    left_ = std::accumulate(units_.begin(), units_.end(), std::uint64_t{0});
    std::ranges::for_each(excluded, [this](auto entry) { take_out(entry); });
  }
  void take_out(std::uint32_t entry) { left_ -= std::exchange(units_[entry], 0); }
  /// \requires something is left
  std::uint32_t draw(DrawStream& stream) const {
    std::uint64_t below = stream.below64(left_);
    std::uint32_t entry = 0;
    for (; below >= units_[entry]; ++entry) {
      below -= units_[entry];
    }
    return entry;
  }

  std::vector<std::uint64_t> units_;
  std::uint64_t left_ = 0;
};

}  // namespace troupe
