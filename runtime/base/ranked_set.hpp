#pragma once
/// \file ranked_set.hpp
/// Which of a range of numbers are in a set, and the how-manieth each is.
#include "runtime/base/assert.hpp"

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// A bit per number of the range, and a count per 512 of them.
/// Threads: immutable; any number at once
/// \cost    1.125 bits per number of the range; a question reads one cache line of bits and a count
class RankedSet {
 public:
  RankedSet() = default;
  /// \param members  ascending, each below `end`
  RankedSet(std::span<const std::uint64_t> members, std::uint64_t end)
      : end_(end), size_(members.size()), bits_(end / 64 + 1), before_(end / 512 + 1) {
    for (const auto member : members) {
      TROUPE_ASSERT(member < end, "member of a ranked set", member, end);
      bits_[member / 64] |= std::uint64_t{1} << member % 64;
    }
    std::uint64_t count = 0;
    for (std::uint64_t word = 0; word < bits_.size(); ++word) {
      if (word % 8 == 0) {
        before_[word / 8] = count;
      }
      count += static_cast<std::uint64_t>(std::popcount(bits_[word]));
    }
  }

  std::uint64_t size() const { return size_; }
  std::uint64_t bytes() const { return 8 * (bits_.size() + before_.size()); }
  /// bytes() of a set of numbers below `end`.
  static std::uint64_t bytes_below(std::uint64_t end) { return 8 * (end / 64 + end / 512 + 2); }
  bool contains(std::uint64_t number) const {
    return number < end_ && (bits_[number / 64] >> number % 64 & 1U) != 0;
  }
  /// How many members are below a member; nothing for other numbers.
  std::optional<std::uint64_t> rank(std::uint64_t number) const {
    if (!contains(number)) {
      return std::nullopt;
    }
    auto count = before_[number / 512];
    for (auto word = number / 512 * 8; word < number / 64; ++word) {
      count += static_cast<std::uint64_t>(std::popcount(bits_[word]));
    }
    const auto lower = (std::uint64_t{1} << number % 64) - 1;
    return count + static_cast<std::uint64_t>(std::popcount(bits_[number / 64] & lower));
  }

 private:
  std::uint64_t end_ = 0;
  std::uint64_t size_ = 0;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint64_t> before_;
};

}  // namespace troupe
