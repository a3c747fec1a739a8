#pragma once
/// \file weighted_reference.hpp
/// The weighted choice as decision 0030 defines it, without any care for speed.
#include "runtime/base/alias_table.hpp"
#include "runtime/base/philox.hpp"

#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace troupe::testing {

using Weights = std::vector<float>;

inline std::vector<AliasSlot> alias_table(const Weights& weights) {
  std::vector<AliasSlot> table(weights.size());
  AliasTableMaker().make(weights, table);
  return table;
}

/// Positions that the weighted choice takes of a list, ascending.
/// \param excluded  positions that are not taken
inline std::vector<std::uint32_t> reference_weighted(DrawStream stream,
                                                     std::span<const AliasSlot> table,
                                                     std::int64_t fanout, bool replace,
                                                     const std::set<std::uint32_t>& excluded = {}) {
  const auto entries = static_cast<std::uint32_t>(table.size());
  std::vector<std::uint64_t> units;
  alias_units(table, units);
  const auto all = std::accumulate(units.begin(), units.end(), std::uint64_t{0});
  for (const auto entry : excluded) {
    units[entry] = 0;
  }
  std::multiset<std::uint32_t> taken;
  if (!replace && entries <= fanout) {
    for (std::uint32_t i = 0; i < entries; ++i) {
      if (units[i] > 0) {
        taken.insert(i);
      }
    }
    return {taken.begin(), taken.end()};
  }
  auto left = std::accumulate(units.begin(), units.end(), std::uint64_t{0});
  if (all == 0) {
    return {};
  }
  const auto size = static_cast<std::size_t>(fanout);
  const std::int64_t most = replace && excluded.empty() ? fanout : 4 * fanout + 32;
  for (std::int64_t draws = 0; draws < most && taken.size() < size; ++draws) {
    const std::uint32_t slot = stream.below(entries);
    const std::uint32_t coin = stream.next();
    const bool own = coin < table[slot].threshold || table[slot].alias == slot;
    const std::uint32_t entry = own ? slot : table[slot].alias;
    if ((replace || !taken.contains(entry)) && !excluded.contains(entry)) {
      taken.insert(entry);
    }
  }
  for (const auto entry : taken) {
    left -= replace ? 0 : std::exchange(units[entry], 0);
  }
  while (taken.size() < size && left > 0) {
    const std::uint64_t r = stream.below64(left);
    std::uint64_t sum = 0;
    std::uint32_t entry = 0;
    while (sum + units[entry] <= r) {
      sum += units[entry++];
    }
    left -= replace ? 0 : std::exchange(units[entry], 0);
    taken.insert(entry);
  }
  return {taken.begin(), taken.end()};
}

/// The same for a stretch of a list whose weights are `units` (decision 0030, temporal).
inline std::vector<std::uint32_t> reference_by_sums(DrawStream stream,
                                                    std::vector<std::uint64_t> units,
                                                    std::int64_t fanout, bool replace,
                                                    const std::set<std::uint32_t>& excluded) {
  const auto find = [](const std::vector<std::uint64_t>& of, std::uint64_t r) {
    std::uint32_t entry = 0;
    for (; r >= of[entry]; ++entry) {
      r -= of[entry];
    }
    return entry;
  };
  auto left = units;
  for (const auto entry : excluded) {
    left[entry] = 0;
  }
  std::multiset<std::uint32_t> taken;
  if (!replace && static_cast<std::int64_t>(units.size()) <= fanout) {
    for (std::uint32_t i = 0; i < left.size(); ++i) {
      if (left[i] > 0) {
        taken.insert(i);
      }
    }
    return {taken.begin(), taken.end()};
  }
  const auto sum_of = [](const std::vector<std::uint64_t>& of) {
    return std::accumulate(of.begin(), of.end(), std::uint64_t{0});
  };
  const auto size = static_cast<std::size_t>(fanout);
  const auto most = replace && excluded.empty() ? fanout : 4 * fanout + 32;
  for (std::int64_t k = 0; k < most && taken.size() < size && sum_of(units) > 0; ++k) {
    const auto entry = find(units, stream.below64(sum_of(units)));
    if (!excluded.contains(entry) && (replace || !taken.contains(entry))) {
      taken.insert(entry);
    }
  }
  for (const auto entry : taken) {
    left[entry] = replace ? left[entry] : 0;
  }
  while (taken.size() < size && sum_of(left) > 0) {
    const auto entry = find(left, stream.below64(sum_of(left)));
    taken.insert(entry);
    left[entry] = replace ? left[entry] : 0;
  }
  return {taken.begin(), taken.end()};
}

}  // namespace troupe::testing
