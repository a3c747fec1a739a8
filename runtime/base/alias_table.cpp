#include "runtime/base/alias_table.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>

namespace troupe {

__extension__ using Wide = unsigned __int128;

bool AliasTableMaker::quantize(std::span<const float> weights) {
  const auto largest = std::ranges::max_element(weights);
  if (largest == weights.end() || *largest == 0) {
    return false;
  }
  const auto most = static_cast<double>(*largest);
  units_.resize(weights.size());
  Wide sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    units_[i] = static_cast<std::uint64_t>(static_cast<double>(weights[i]) / most * 0x1p52);
    sum += units_[i];
  }
  const std::uint64_t all = weights.size() * alias_unit;
  const double factor = static_cast<double>(all) / static_cast<double>(sum);
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto units = static_cast<std::uint64_t>(static_cast<double>(units_[i]) * factor);
    units_[i] = weights[i] > 0 ? std::max(std::uint64_t{1}, units) : 0;
    given += units_[i];
  }
  units_[static_cast<std::size_t>(largest - weights.begin())] += all - given;  // modulo 2^64
  return true;
}

void AliasTableMaker::make(std::span<const float> weights, std::span<AliasSlot> table) {
  TROUPE_ASSERT(weights.size() == table.size() && weights.size() < no_alias, "alias table",
                weights.size(), table.size());
  if (!quantize(weights)) {
    std::ranges::fill(table, AliasSlot{0, no_alias});
    return;
  }
  const auto next = [&](std::size_t from, bool light) {
    while (from < units_.size() && (units_[from] <= alias_unit) != light) {
      ++from;
    }
    return from;
  };
  const auto own = [&](std::size_t slot) {
    table[slot] = {0xFFFFFFFF, static_cast<std::uint32_t>(slot)};
  };
  std::size_t light = next(0, true);
  std::size_t heavy = next(0, false);
  std::uint64_t rest = heavy < units_.size() ? units_[heavy] : 0;  // of the heavy entry
  const auto fill = [&](std::size_t slot, std::uint64_t threshold, std::size_t by) {
    table[slot] = {static_cast<std::uint32_t>(threshold), static_cast<std::uint32_t>(by)};
  };
  while (heavy < units_.size()) {
    if (rest > alias_unit) {
      const std::uint64_t threshold = units_[light];
      if (threshold == alias_unit) {
        own(light);
      } else {
        fill(light, threshold, heavy);
        rest -= alias_unit - threshold;
      }
      light = next(light + 1, true);
      continue;
    }
    const std::size_t following = next(heavy + 1, false);
    const std::uint64_t missing = alias_unit - rest;
    if (missing == 0) {
      own(heavy);
    } else {
      fill(heavy, rest, following);
    }
    rest = following < units_.size() ? units_[following] - missing : 0;
    heavy = following;
  }
  for (; light < units_.size(); light = next(light + 1, true)) {
    own(light);
  }
}

void alias_units(std::span<const AliasSlot> table, std::vector<std::uint64_t>& units) {
  units.assign(table.size(), 0);
  if (!table.empty() && table.front().alias == no_alias) {
    return;
  }
  for (std::size_t slot = 0; slot < table.size(); ++slot) {
    const auto& at = table[slot];
    if (at.alias == slot) {
      units[slot] += alias_unit;
    } else {
      units[slot] += at.threshold;
      units[at.alias] += alias_unit - at.threshold;
    }
  }
}

}  // namespace troupe
