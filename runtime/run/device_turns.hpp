#pragma once
/// \file device_turns.hpp
/// Which device computes which block of exact inference.
#include "runtime/base/assert.hpp"

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

namespace troupe {

/// Blocks wait in order of arrival for the first device that is free; a device has one at a time.
/// Threads: one at a time
template <class Block>
class DeviceTurns {
 public:
  struct Turn {
    Block block;
    std::size_t device = 0;
  };

  explicit DeviceTurns(std::size_t devices) : count_(devices) {
    for (std::size_t device = 0; device < devices; ++device) {
      free_.push_back(device);
    }
  }

  void add(Block block) { waiting_.push_back(std::move(block)); }
  /// The next block that can be computed; nothing: none waits, or no device is free.
  std::optional<Turn> next() {
    if (waiting_.empty() || free_.empty()) {
      return std::nullopt;
    }
    std::optional<Turn> turn(Turn{std::move(waiting_.front()), free_.front()});
    waiting_.pop_front();
    free_.pop_front();
    return turn;
  }
  /// The device has computed its block.
  void done(std::size_t device) {
    TROUPE_ASSERT(free_.size() < count_, "a device without a block", device, count_);
    free_.push_back(device);
  }

 private:
  std::size_t count_;
  std::deque<std::size_t> free_;
  std::deque<Block> waiting_;
};

}  // namespace troupe
