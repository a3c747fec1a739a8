#pragma once
/// \file alias_table.hpp
/// Alias tables: draws by weight at a cost independent of the number of entries (Walker, "An efficient
/// method for generating discrete random variables with general distributions", ACM TOMS 3(3), 1977).
/// All in integers, so that every processor and device draws the same.
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// One slot of a table, which keeps its own entry where the coin is below `threshold`, and else gives
/// that of `alias`. A threshold is 0 where the entry has no weight, and nowhere else.
struct AliasSlot {
  std::uint32_t threshold = 0;
  std::uint32_t alias = 0;  ///< The slot itself: it never gives another entry
};

/// `alias` of all slots of a list without any weight.
inline constexpr std::uint32_t no_alias = 0xFFFFFFFF;

/// Whole slots that an entry's weight is counted in: the weights of n entries add up to n of them.
inline constexpr std::uint64_t alias_unit = std::uint64_t{1} << 32;

/// The entry that a slot and a coin give. \requires the list has weights above 0
inline std::uint32_t alias_entry(std::span<const AliasSlot> table, std::uint32_t slot,
                                 std::uint32_t coin) {
  const AliasSlot& at = table[slot];
  return coin < at.threshold || at.alias == slot ? slot : at.alias;
}

/// Makes tables, one after the other; keeps its scratch.
/// Threads: one at a time
class AliasTableMaker {
 public:
  /// Weights become integers: for n entries with largest weight m, f = floor(w / m * 2^52), with S the
  /// sum of all f and r = n * 2^32 / S, and q = max(1, floor(f * r)) where w > 0; the first of the largest
  /// gets what n * 2^32 exceeds the sum of q by. Each step in float64, rounded once. Entries are then
  /// paired in order (Huebschle-Schneider and Sanders, "Parallel weighted random sampling", ACM TOMS
  /// 48(3), 2022), so that they are drawn exactly as often as q says.
  /// \param table  [entries] is written
  /// \requires weights are finite and >= 0; fewer than 2^32 - 1 entries
  void make(std::span<const float> weights, std::span<AliasSlot> table);

 private:
  bool quantize(std::span<const float> weights);

  std::vector<std::uint64_t> units_;  ///< q of each entry
};

/// The integer weights of a table's entries, in units of 2^-32 slots; they replace the contents of `units`.
void alias_units(std::span<const AliasSlot> table, std::vector<std::uint64_t>& units);

}  // namespace troupe
