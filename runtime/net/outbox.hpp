#pragma once
/// \file outbox.hpp
/// Frames on their way from whoever sends to the writer of the network thread. For the sources of
/// links only.
#include "runtime/net/piece.hpp"

#include <utility>
#include <vector>

namespace troupe::net {

/// Who sends waits for no more than the exchange of two vectors.
/// Threads: push(), take() and drop() under the link's lock; pour() on the network thread, without it
class Outbox {
 public:
  void push(Frame&& frame) { sent_.push_back(std::move(frame)); }
  /// Moves what was pushed to where pour() finds it. \returns whether there is any
  bool take() {
    taken_.swap(sent_);
    return !taken_.empty();
  }
  /// Hands over what was taken, in the order of push().
  void pour(PieceWriter& writer) {
    for (auto& frame : taken_) {
      writer.push(std::move(frame));
    }
    taken_.clear();
  }
  /// Takes out what was not taken yet, for the caller to let go without the lock.
  std::vector<Frame> drop() { return std::exchange(sent_, {}); }

 private:
  std::vector<Frame> sent_;
  std::vector<Frame> taken_;  ///< from take() to pour(), then only its memory
};

}  // namespace troupe::net
