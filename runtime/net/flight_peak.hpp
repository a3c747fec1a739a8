#pragma once
/// \file flight_peak.hpp
/// The largest sum of the sizes of items that were in flight at one time, where the size of an item
/// is known only when it lands. For counters; not for deciding what may be sent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace troupe::net {

/// Threads:    one at a time
/// Guarantees: peak() is exact for the items that have landed, but for those that began while more
///   than `most_open` later ones than an item that is still in flight had begun: they do not count
/// \cost constant time per item, amortized; 24 bytes for each item since the oldest in flight
class FlightPeak {
 public:
  static constexpr std::size_t most_open = std::size_t{1} << 16;

  /// \returns the place of the item, for end()
  std::uint64_t begin() {
    if (starts_.size() == most_open) {
      return not_counted;
    }
    starts_.push_back({.landed_bytes = ended_since_, .bytes = 0, .open = true});
    ended_since_ = 0;
    return first_ + starts_.size() - 1;
  }

  void end(std::uint64_t place, std::uint64_t bytes) {
    if (place == not_counted) {
      return;
    }
    auto& start = starts_[place - first_];
    start.bytes = bytes;
    start.open = false;
    ended_since_ += bytes;
    // A sum is complete when every item that began before it has landed.
    while (!starts_.empty() && !starts_.front().open) {
      now_ = now_ - starts_.front().landed_bytes + starts_.front().bytes;
      peak_ = std::max(peak_, now_);
      starts_.pop_front();
      ++first_;
    }
  }

  std::uint64_t peak() const { return peak_; }

 private:
  static constexpr std::uint64_t not_counted = ~std::uint64_t{0};
  /// The moment when an item began: the only moments at which the sum can be the largest.
  struct Start {
    std::uint64_t landed_bytes;  // of items that landed since the start before
    std::uint64_t bytes;         // of this item, once it has landed
    bool open;
  };

  std::deque<Start> starts_;
  std::uint64_t first_ = 0;        // place of the first of `starts_`
  std::uint64_t ended_since_ = 0;  // bytes of items that landed since the last start
  std::uint64_t now_ = 0;          // the sum at the last complete start
  std::uint64_t peak_ = 0;
};

}  // namespace troupe::net
