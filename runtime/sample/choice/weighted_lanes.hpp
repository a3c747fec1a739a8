#pragma once
/// \file weighted_lanes.hpp
/// Weighted draws by alias tables for as many stretches as a vector has lanes: the positions of
/// weighted.cpp's scalar code, which stays the definition.
#include "runtime/base/alias_table.hpp"
#include "runtime/base/lanes.hpp"
#include "runtime/base/prefetch.hpp"
#include "runtime/sample/choice/choice.hpp"
#include "runtime/sample/choice/sorting_network.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Lifecycle: one per fanout; begin() for each group, then take() for each of its stretches
/// Threads:   one at a time
template <std::size_t Bytes>
class WeightedLanes {
 public:
  using Words = typename Lanes<Bytes>::Words;
  static constexpr std::size_t lanes = Lanes<Bytes>::count;
  static constexpr std::uint32_t most_fanout = 64;

  /// \requires 1 <= fanout <= most_fanout
  WeightedLanes(std::uint32_t fanout, bool replace)
      : fanout_(fanout), replace_(replace), first_draws_((fanout + 3) / 4 * 4) {}

  /// Starts with the first stretches of a group.
  /// \param stretches  with aliases and without excluded positions; they stay until the last take()
  /// \requires entries > fanout without replacement, entries > 0 with it
  void begin(StreamKey key, std::span<const Stretch* const> stretches) {
    key_ = key.words;
    left_ = stretches;
    next_ = 0;
    draw_ahead();
  }

  /// Positions of a stretch as far as they are known.
  struct Taken {
    std::uint32_t positions;  ///< That many
    std::uint32_t draws;      ///< Made for them, a multiple of 4
    bool complete;            ///< All, in ascending order; if false, scalar code draws the rest
  };
  /// Positions of the next stretch of the group.
  /// \param out  [fanout]
  Taken take(std::uint32_t* out) {
    const std::size_t lane = next_ % lanes;
    if (lane == 0) {
      now_ = 1 - now_;
      draw_ahead();
      choose(drawn_[now_]);
    }
    ++next_;
    if ((drawn_[now_].rejected[lane] & 1U) != 0) {
      return {0, 0, false};
    }
    const std::uint32_t count = taken_[lane];
    for (std::uint32_t k = 0; k < count; ++k) {
      out[k] = chosen_[k][lane];
    }
    return {count, draws_, (open_ >> lane & 1U) == 0};
  }

 private:
  /// Without replacement; what is missing then is left to scalar code, which sees four times as many.
  static constexpr std::uint32_t most_draws(std::uint32_t fanout) { return 2 * fanout + 16; }
  static constexpr std::size_t most_places = (most_draws(most_fanout) + 3) / 4 * 4;

  /// Stretches side by side, and their first draws.
  struct Drawn {
    std::size_t stretches = 0;
    std::array<const AliasSlot*, lanes> aliases;
    Words id_low = {};
    Words id_high = {};
    Words trees = {};
    Words entries = {};
    Words rejected = {};  ///< All bits: a word may be rejected
    std::array<Words, most_fanout> slots;
    std::array<Words, most_fanout> coins;
  };

  /// Takes up the stretches that follow, and starts to load the slots of their first draws.
  void draw_ahead() {
    Drawn& drawn = drawn_[1 - now_];
    drawn.stretches = std::min(lanes, left_.size());
    if (drawn.stretches == 0) {
      return;
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const Stretch& stretch = *left_[std::min(lane, drawn.stretches - 1)];
      drawn.aliases[lane] = stretch.aliases;
      drawn.id_low[lane] = static_cast<std::uint32_t>(stretch.original_id);
      drawn.id_high[lane] = static_cast<std::uint32_t>(stretch.original_id >> 32);
      drawn.trees[lane] = stretch.tree;
      drawn.entries[lane] = stretch.entries;
    }
    left_ = left_.subspan(drawn.stretches);
    drawn.rejected = Words{};
    for (std::uint32_t k = 0; k < first_draws_; k += 4) {
      draw_four(drawn, k, &drawn.slots[k], &drawn.coins[k]);
      for (std::uint32_t of_four = k; of_four < k + 4; ++of_four) {
        for (std::size_t lane = 0; lane < drawn.stretches; ++lane) {
          prefetch(drawn.aliases[lane] + drawn.slots[of_four][lane]);
        }
      }
    }
  }

  /// Draws number `first` to `first` + 3, a multiple of 4: two blocks of each stream.
  void draw_four(Drawn& drawn, std::uint32_t first, Words* slots, Words* coins) const {
    const Words block = Words{} + first / 2;
    std::array<BlockLanes<Bytes>, 2> words{{{drawn.id_low, drawn.id_high, block, drawn.trees},
                                            {drawn.id_low, drawn.id_high, block + 1, drawn.trees}}};
    philox_lanes<Bytes>(key_, words);
    for (std::size_t k = 0; k < 4; ++k) {
      const auto& of_block = words[k / 2];
      const auto product = multiply<Bytes>(of_block[k % 2 * 2], drawn.entries);
      drawn.rejected |= reinterpret_cast<Words>(product.low < drawn.entries);
      slots[k] = product.high;
      coins[k] = of_block[k % 2 * 2 + 1];
    }
  }

  void choose(Drawn& drawn) {
    count_ = Words{};
    open_ = static_cast<std::uint32_t>((std::uint64_t{1} << drawn.stretches) - 1);
    draws_ = replace_ ? fanout_ : first_draws_;
    for (std::uint32_t k = 0; k < draws_; ++k) {
      look_up(drawn, drawn.slots[k], drawn.coins[k]);
      add(k);
    }
    close_lanes(drawn);
    // One lane alone is as fast by scalar code.
    while (!replace_ && std::popcount(open_) > 1 && draws_ < most_draws(fanout_)) {
      std::array<Words, 4> slots;
      std::array<Words, 4> coins;
      draw_four(drawn, draws_, slots.data(), coins.data());
      for (std::uint32_t k = 0; k < 4; ++k) {
        look_up(drawn, slots[k], coins[k]);
        add(draws_ + k);
      }
      draws_ += 4;
      close_lanes(drawn);
    }
    if (networks_.size() <= draws_) {
      networks_.resize(draws_ + 1);
    }
    if (networks_[draws_].empty()) {
      networks_[draws_] = sorting_network(draws_);
    }
    sort_lanes(networks_[draws_], chosen_.data());  // gaps come last
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      taken_[lane] = count_[lane];
    }
  }

  /// Finds the entries that slots and coins give; `no_alias` in lists without weight.
  void look_up(const Drawn& drawn, const Words& slots, const Words& coins) {
    for (std::uint32_t bits = open_; bits != 0; bits &= bits - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(bits));
      const std::uint32_t slot = slots[lane];
      const AliasSlot at = drawn.aliases[lane][slot];
      const bool own = static_cast<unsigned>(coins[lane] < at.threshold) |
                       static_cast<unsigned>(at.alias == slot);
      found_[lane] = own ? slot : at.alias;
    }
  }

  /// Adds what was found to the entries chosen, as number `k`; `no_alias` where it is not taken. So the
  /// entries of a lane may have gaps.
  void add(std::uint32_t k) {
    Words takes = reinterpret_cast<Words>(found_ != no_alias);
    if (!replace_) {
      // The least difference in any bit: 0 where there is an equal one.
      Words least = ~Words{};
      for (std::uint32_t before = 0; before < k; ++before) {
        const Words different = chosen_[before] ^ found_;
        least = least < different ? least : different;
      }
      takes &= reinterpret_cast<Words>(least != 0) & reinterpret_cast<Words>(count_ < fanout_);
    }
    chosen_[k] = found_ | ~takes;
    count_ -= takes;
  }

  /// Lanes are open until they have as many entries as the fanout, or turn out not to have any.
  void close_lanes(const Drawn& drawn) {
    const Words open = reinterpret_cast<Words>(count_ < fanout_) & ~drawn.rejected &
                       reinterpret_cast<Words>(chosen_[0] != no_alias);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      open_ &= ~((~open[lane] & 1U) << lane);
    }
  }

  std::uint32_t fanout_;
  bool replace_;
  std::uint32_t first_draws_;
  PhiloxKey key_{};
  std::span<const Stretch* const> left_;
  std::size_t next_ = 0;
  std::array<Drawn, 2> drawn_;
  std::size_t now_ = 0;  ///< Of them, those that are taken from; the others are next
  Words found_ = {};
  Words count_ = {};         ///< Of entries chosen
  std::uint32_t open_ = 0;   ///< Bit l: lane l needs more draws
  std::uint32_t draws_ = 0;  ///< Made of each stretch
  std::array<Words, most_places> chosen_;
  std::array<std::uint32_t, lanes> taken_{};
  std::vector<SortingNetwork> networks_;  ///< By size, those that were needed
};

}  // namespace troupe
