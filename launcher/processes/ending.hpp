#pragma once
/// \file ending.hpp
/// How a process of a run ends: set once by whoever is first, then awaited.
#include "runtime/base/result.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>

namespace troupe {

/// Threads: all members from any thread.
class Ending {
 public:
  /// \param why  an error, or ok: the run went well
  void set(const Status& why) {
    {
      const std::lock_guard guard(mutex_);
      if (why_) {
        return;
      }
      why_ = why;
    }
    changed_.notify_all();
  }
  Status wait() {
    std::unique_lock guard(mutex_);
    changed_.wait(guard, [this] { return why_.has_value(); });
    return *why_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Status> why_;
};

}  // namespace troupe
