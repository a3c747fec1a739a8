#pragma once
/// \file weighted_bodies.hpp
/// Kernel bodies of draws by weight: the positions of runtime/sample/choice/weighted.cpp, as decision
/// 0030 defines them.
#include "gpu/base/shared.hpp"
#include "gpu/sample/hop_bodies.hpp"
#include "runtime/base/alias_table.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

/// counts[row] = entries taken of its list, none of which has weight 0.
struct CountWeightedRow {
  HopRows rows;
  ListRule rule;
  const AliasSlot* aliases;  ///< Of all lists
  bool zero_weights;         ///< Some entry has none
  std::uint32_t* counts;

  TROUPE_HD void operator()(std::size_t row) const {
    const std::uint64_t degree = rows.has(row) ? rows.degree(row) : 0;
    std::uint32_t count = rule.count(degree);
    if (degree > 0 && zero_weights) {
      const AliasSlot* const table = aliases + rows.begin(row);
      if (rule.replace) {
        count = table->alias == no_alias ? 0 : count;
      } else {
        count = with_weight(table, degree, count);
      }
    }
    counts[row] = count;
  }

 private:
  /// Entries with weight, at most `most`.
  TROUPE_HD static std::uint32_t with_weight(const AliasSlot* table, std::uint64_t degree,
                                             std::uint32_t most) {
    std::uint32_t count = 0;
    for (std::uint64_t i = 0; i < degree && count < most; ++i) {
      count += table[i].threshold > 0 ? 1U : 0U;
    }
    return count;
  }
};

/// Draws entries that are still missing when too many draws by the table were in vain: by sums of the
/// integer weights of the entries that are left. Without memory of its own: each draw takes as many passes
/// over the list as its length has bits. Lists where few entries have nearly all weight need it, short
/// ones at times.
struct RemainingDraws {
  const AliasSlot* table;  ///< [degree]
  std::uint32_t degree;
  std::uint32_t* out;  ///< Positions, ascending

  /// \param taken  positions that are there already
  /// \param count  that there are in the end
  TROUPE_HD void complete(DrawStream& stream, std::uint32_t taken, std::uint32_t count) const {
    std::uint64_t left = units_left(0, degree, taken);
    for (; taken < count; ++taken) {
      const std::uint32_t entry = find(stream.below64(left), taken);
      left -= units_left(entry, entry + std::uint64_t{1}, taken);
      insert_sorted(entry, taken, out);
    }
  }

 private:
  TROUPE_HD bool is_taken(std::uint32_t entry, std::uint32_t taken) const {
    std::uint32_t first = 0;
    for (std::uint32_t more = taken; more > 0;) {
      const std::uint32_t half = more / 2;
      const bool later = out[first + half] < entry;
      first += later ? half + 1 : 0U;
      more = later ? more - half - 1 : half;
    }
    return first < taken && out[first] == entry;
  }
  /// Sum of the weights of entries in [first, end) that are not taken.
  TROUPE_HD std::uint64_t units_left(std::uint64_t first, std::uint64_t end,
                                     std::uint32_t taken) const {
    std::uint64_t sum = 0;
    for (std::uint32_t slot = 0; slot < degree; ++slot) {
      const AliasSlot at = table[slot];
      const std::uint64_t own = at.alias == slot ? alias_unit : at.threshold;
      if (slot >= first && slot < end && !is_taken(slot, taken)) {
        sum += own;
      }
      if (own < alias_unit && at.alias >= first && at.alias < end && !is_taken(at.alias, taken)) {
        sum += alias_unit - own;
      }
    }
    return sum;
  }
  /// The entry at a place among the weights that are left.
  TROUPE_HD std::uint32_t find(std::uint64_t below, std::uint32_t taken) const {
    std::uint64_t first = 0;
    std::uint64_t more = degree;
    while (more > 1) {
      const std::uint64_t half = more / 2;
      const std::uint64_t sum = units_left(first, first + half, taken);
      const bool later = below >= sum;
      below -= later ? sum : 0;
      first += later ? half : 0;
      more = later ? more - half : half;
    }
    return static_cast<std::uint32_t>(first);
  }
};

/// Draws the positions taken of a row's list, ascending, where it is not taken whole.
struct DrawWeightedRow {
  HopRows rows;
  ListRule rule;
  const AliasSlot* aliases;  ///< Of all lists
  RowDraws draws;

  TROUPE_HD void operator()(std::size_t row) const {
    const auto degree = static_cast<std::uint32_t>(rows.degree(row));
    const std::uint32_t count = draws.count(row);
    if (count == 0 || rule.whole(degree, count)) {
      return;
    }
    const AliasSlot* const table = aliases + rows.begin(row);
    std::uint32_t* const out = draws.out(row);
    if (!rule.replace && degree <= rule.fanout) {
      for (std::uint32_t i = 0, taken = 0; i < degree; ++i) {
        if (table[i].threshold > 0) {
          out[taken++] = i;
        }
      }
      return;
    }
    DrawStream stream = draws.stream(rows.nodes[row]);
    // Without replacement as many as runtime/sample/choice/weighted.hpp has.
    const std::uint64_t most = rule.replace ? count : 4 * std::uint64_t{rule.fanout} + 32;
    std::uint32_t taken = 0;
    for (std::uint64_t k = 0; k < most && taken < count; ++k) {
      taken += draw(table, degree, stream, taken, out) ? 1U : 0U;
    }
    if (taken < count) {
      RemainingDraws{table, degree, out}.complete(stream, taken, count);
    }
  }

 private:
  /// \returns whether the entry was added
  TROUPE_HD bool draw(const AliasSlot* table, std::uint32_t degree, DrawStream& stream,
                      std::uint32_t taken, std::uint32_t* out) const {
    const std::uint32_t slot = stream.below(degree);
    const std::uint32_t coin = stream.next();
    const AliasSlot at = table[slot];
    const std::uint32_t entry = coin < at.threshold || at.alias == slot ? slot : at.alias;
    std::uint32_t before = taken;
    while (before > 0 && out[before - 1] > entry) {
      --before;
    }
    if (!rule.replace && before > 0 && out[before - 1] == entry) {
      return false;
    }
    for (std::uint32_t k = taken; k > before; --k) {
      out[k] = out[k - 1];
    }
    out[before] = entry;
    return true;
  }
};

}  // namespace troupe::gpu
