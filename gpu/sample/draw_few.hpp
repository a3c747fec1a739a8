#pragma once
/// \file draw_few.hpp
/// The draws of DrawRow (hop_bodies.hpp) for short fanouts, with the positions in registers.
#include "gpu/base/shared.hpp"
#include "gpu/sample/hop_bodies.hpp"
#include "runtime/base/philox.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

/// Longest fanout that DrawFew draws for.
inline constexpr std::uint32_t most_few = 16;

/// Up to `Most` positions. Loops have constant bounds and indices, so that the array is registers:
/// in memory each comparison waits for a load.
template <std::uint32_t Most>
class FewPositions {
  static_assert(Most % 4 == 0);

 public:
  /// Draws from the first words of a stream. \requires count <= Most
  /// \returns false: some word may be one that DrawStream::below() rejects; nothing is drawn then
  TROUPE_HD bool draw(StreamKey key, std::uint64_t id, std::uint32_t degree, std::uint32_t count,
                      bool replace) {
    bool clear = true;
    TROUPE_UNROLL
    for (std::uint32_t block = 0; block < Most / 4; ++block) {
      const PhiloxCounter words = philox4x32_10(
          {static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32), block, 0},
          key.words);
      TROUPE_UNROLL
      for (std::uint32_t word = 0; word < 4; ++word) {
        clear = take(words[word], block * 4 + word, degree, count, replace) && clear;
      }
    }
    return clear;
  }

  /// Rounds of exchanges of neighbors: those of a round are independent.
  TROUPE_HD void sort() {
    TROUPE_UNROLL
    for (std::uint32_t round = 0; round < Most; ++round) {
      TROUPE_UNROLL
      for (std::uint32_t i = 0; i + 1 < Most; ++i) {
        if (i % 2 == round % 2) {
          const std::uint32_t a = at_[i];
          const std::uint32_t b = at_[i + 1];
          at_[i] = a < b ? a : b;
          at_[i + 1] = a < b ? b : a;
        }
      }
    }
  }

  TROUPE_HD void write(std::uint32_t count, std::uint32_t* out) const {
    TROUPE_UNROLL
    for (std::uint32_t i = 0; i < Most; ++i) {
      if (i < count) {
        out[i] = at_[i];
      }
    }
  }

 private:
  /// Floyd's step, as draw_distinct() has it, or a draw with replacement. Places that are not drawn
  /// hold what is above all positions.
  TROUPE_HD bool take(std::uint32_t word, std::uint32_t i, std::uint32_t degree,
                      std::uint32_t count, bool replace) {
    const std::uint32_t j = degree - count + i;
    const std::uint32_t bound = replace ? degree : j + 1;
    const std::uint64_t product = std::uint64_t{word} * bound;
    const auto t = static_cast<std::uint32_t>(product >> 32);
    bool taken = false;
    TROUPE_UNROLL
    for (std::uint32_t k = 0; k < Most; ++k) {
      if (k < i) {
        taken = taken || at_[k] == t;
      }
    }
    at_[i] = i >= count ? ~std::uint32_t{0} : (taken && !replace ? j : t);
    return i >= count || static_cast<std::uint32_t>(product) >= bound;
  }

  std::array<std::uint32_t, Most> at_{};
};

/// What DrawRow does. \requires rule.fanout <= Most
template <std::uint32_t Most>
struct DrawFew {
  HopRows rows;
  ListRule rule;
  RowDraws draws;

  TROUPE_HD void operator()(std::size_t row) const {
    const auto degree = static_cast<std::uint32_t>(rows.degree(row));
    const std::uint32_t count = draws.count(row);
    if (rule.whole(degree, count)) {
      return;
    }
    FewPositions<Most> positions;
    if (!positions.draw(draws.key, draws.original_ids[rows.nodes[row]], degree, count,
                        rule.replace)) {
      DrawRow{rows, rule, draws}(row);
      return;
    }
    positions.sort();
    positions.write(count, draws.out(row));
  }
};

}  // namespace troupe::gpu
