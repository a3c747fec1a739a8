#pragma once
/// \file ending.hpp
/// How a process of a run ends: set once by whoever is first, then awaited.
#include "runtime/base/result.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace troupe {

/// Threads: all members from any thread.
class Ending {
 public:
  /// From now on the end has this reason, also if it begins for another, like a link that closes.
  /// \param why  an error, or ok: the run went well
  void decide(const Status& why) {
    const std::lock_guard guard(mutex_);
    if (!why_) {
      why_ = why;
    }
  }
  /// As decide(), with a reason that the director has sent.
  void decide_by_director(const Status& why) {
    const std::lock_guard guard(mutex_);
    if (!why_) {
      why_ = why;
      by_director_ = true;
    }
  }
  /// Lets wait() return; the end must be decided.
  void begin() {
    {
      const std::lock_guard guard(mutex_);
      begun_ = true;
    }
    changed_.notify_all();
  }
  /// The link to the director is lost.
  void set(const Status& why) {
    decide(why);
    lost_ = true;
    begin();
  }
  Status wait() {
    std::unique_lock guard(mutex_);
    changed_.wait(guard, [this] { return begun_; });
    return *why_;
  }
  /// Whether the reason is one that the director has sent.
  bool by_director() const {
    const std::lock_guard guard(mutex_);
    return by_director_;
  }
  /// Whether the link to the director is lost, before the end or since.
  bool lost() const { return lost_; }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Status> why_;
  bool begun_ = false;
  bool by_director_ = false;
  std::atomic<bool> lost_ = false;
};

}  // namespace troupe
