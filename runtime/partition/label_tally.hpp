#pragma once
/// \file label_tally.hpp
/// Counts labels that are few among many possible.
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace troupe {

/// How often each label was added: a hash table with linear probing, used again and again.
/// Threads: one at a time
/// \cost 16 bytes for each of twice the most labels of one tally, rounded up to a power of 2
class LabelTally {
 public:
  /// Forgets all labels and makes room for `most` different ones.
  void reset(std::uint64_t most) {
    for (const auto slot : used_) {
      slots_[slot].label = none;
    }
    used_.clear();
    const auto size = std::bit_ceil(2 * most + 2);
    if (size > slots_.size()) {
      slots_.assign(size, Slot{});
      shift_ = 64U - static_cast<unsigned>(std::countr_zero(size));
    }
  }
  void add(std::uint32_t label, std::uint32_t weight = 1) {
    auto slot = (label * 0x9E3779B97F4A7C15U) >> shift_;
    while (slots_[slot].label != label) {
      if (slots_[slot].label == none) {
        slots_[slot] = {label, 0};
        used_.push_back(static_cast<std::uint32_t>(slot));
        break;
      }
      slot = (slot + 1) & (slots_.size() - 1);
    }
    slots_[slot].count += weight;
  }
  /// How many different labels there are.
  std::uint64_t size() const { return used_.size(); }
  /// Calls `f(label, count)` in the order in which labels came first.
  template <class F>
  void for_each(F&& f) const {
    for (const auto slot : used_) {
      f(slots_[slot].label, slots_[slot].count);
    }
  }

 private:
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  struct Slot {
    std::uint64_t label = none;
    std::uint64_t count = 0;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> used_;
  unsigned shift_ = 63;
};

}  // namespace troupe
