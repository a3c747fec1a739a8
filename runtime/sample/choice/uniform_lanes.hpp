#pragma once
/// \file uniform_lanes.hpp
/// The uniform choice for as many stretches as a vector has lanes: the positions of uniform.cpp's scalar
/// code, which stays the definition.
#include "runtime/base/lanes.hpp"
#include "runtime/sample/choice/choice.hpp"
#include "runtime/sample/choice/sorting_network.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// Lifecycle: one per fanout; keeps its scratch
/// Threads:   one at a time
template <std::size_t Bytes>
class UniformLanes {
 public:
  using Words = typename Lanes<Bytes>::Words;
  static constexpr std::size_t lanes = Lanes<Bytes>::count;
  static constexpr std::uint32_t most_fanout = 64;

  /// \requires 1 <= fanout <= most_fanout
  UniformLanes(std::uint32_t fanout, bool replace)
      : fanout_(fanout), replace_(replace), network_(sorting_network(fanout)) {}

  /// Draws for at most `lanes` stretches.
  /// \param positions  [stretches × fanout], stretch after stretch, ascending
  /// \returns bit l: a word for stretch l may be rejected, its positions have to be drawn by scalar code
  /// \requires entries > fanout without replacement, entries > 0 with it
  std::uint32_t draw(StreamKey key, std::span<const Stretch> stretches, std::uint32_t* positions) {
    load(stretches);
    const std::uint32_t again = choose(key.words);
    sort_lanes(network_, chosen_.data());
    for (std::size_t lane = 0; lane < stretches.size(); ++lane) {
      for (std::uint32_t k = 0; k < fanout_; ++k) {
        *positions++ = chosen_[k][lane];
      }
    }
    return again & static_cast<std::uint32_t>((std::uint64_t{1} << stretches.size()) - 1);
  }

 private:
  void load(std::span<const Stretch> stretches) {
    for (std::size_t lane = 0; lane < stretches.size(); ++lane) {
      id_low_[lane] = static_cast<std::uint32_t>(stretches[lane].original_id);
      id_high_[lane] = static_cast<std::uint32_t>(stretches[lane].original_id >> 32);
      trees_[lane] = stretches[lane].tree;
      entries_[lane] = stretches[lane].entries;
    }
  }

  /// Floyd's algorithm with the lanes side by side, or plain draws with replacement.
  std::uint32_t choose(PhiloxKey key) {
    Words bound = replace_ ? entries_ : entries_ - (fanout_ - 1);
    Words rejected = {};
    for (std::uint32_t first = 0; first < fanout_; first += 8) {
      const Words block = Words{} + first / 4;
      std::array<BlockLanes<Bytes>, 2> words{
          {{id_low_, id_high_, block, trees_}, {id_low_, id_high_, block + 1, trees_}}};
      philox_lanes<Bytes>(key, words);
      for (std::uint32_t k = first; k < std::min(first + 8, fanout_); ++k) {
        const auto drawn = multiply<Bytes>(words[(k - first) / 4][k % 4], bound);
        rejected |= reinterpret_cast<Words>(drawn.low < bound);
        if (replace_) {
          chosen_[k] = drawn.high;
        } else {
          take(k, drawn.high, bound - 1);
        }
        bound += replace_ ? 0U : 1U;
      }
    }
    std::uint32_t bits = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      bits |= (rejected[lane] & 1U) << lane;
    }
    return bits;
  }

  /// Chooses `drawn` as number `k`, or `last` where one before is the same.
  void take(std::uint32_t k, const Words& drawn, const Words& last) {
    // The least difference in any bit: 0 where there is an equal one.
    Words least = ~Words{};
    for (std::uint32_t before = 0; before < k; ++before) {
      const Words different = chosen_[before] ^ drawn;
      least = least < different ? least : different;
    }
    chosen_[k] = least == 0 ? last : drawn;
  }

  std::uint32_t fanout_;
  bool replace_;
  SortingNetwork network_;
  Words id_low_ = {};
  Words id_high_ = {};
  Words trees_ = {};
  Words entries_ = {};
  std::array<Words, most_fanout> chosen_;
};

}  // namespace troupe
