#pragma once
// Keeps tasks until a test lets them run.
#include "runtime/base/executor.hpp"

#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

namespace troupe::testing {

class HeldExecutor final : public Executor {
 public:
  void post(Task task) override {
    const std::lock_guard guard(mutex_);
    tasks_.push_back(std::move(task));
  }
  void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) override {
    InlineExecutor().parallel_for(n, body);
  }
  std::size_t concurrency() const override { return 1; }
  std::size_t run_all() {
    const std::lock_guard guard(mutex_);
    const auto count = tasks_.size();
    for (; !tasks_.empty(); tasks_.pop_front()) {
      tasks_.front()();
    }
    return count;
  }
  std::size_t held() const {
    const std::lock_guard guard(mutex_);
    return tasks_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<Task> tasks_;
};

}  // namespace troupe::testing
