#include "runtime/base/executor.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <omp.h>

namespace troupe {

void limit_matrix_threads() {
  omp_set_num_threads(1);
}

ComputePool::ComputePool(std::size_t threads) {
  TROUPE_ASSERT(threads >= 1, "a pool needs a thread");
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { run(); });
  }
}

ComputePool::~ComputePool() {
  stop();
}

void ComputePool::stop() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) {
    if (thread.joinable()) {
      thread.join();
    }
  }
}

void ComputePool::post(Task task) {
  put(in_order, std::move(task));
}

void ComputePool::post_first(Task task) {
  put(first, std::move(task));
}

void ComputePool::put(Queue queue, Task task) {
  {
    const std::lock_guard guard(mutex_);
    if (stop_) {
      return;
    }
    queues_[queue].push_back(std::move(task));
  }
  wake_.notify_one();
}

std::deque<Executor::Task>* ComputePool::waiting() {
  const auto found = std::ranges::find_if_not(queues_, &std::deque<Task>::empty);
  return found == queues_.end() ? nullptr : &*found;
}

void ComputePool::run() {
  limit_matrix_threads();
  for (;;) {
    Task task;
    {
      std::unique_lock guard(mutex_);
      wake_.wait(guard, [this] { return stop_ || waiting() != nullptr; });
      auto* queue = waiting();
      if (queue == nullptr) {
        return;
      }
      task = std::move(queue->front());
      queue->pop_front();
    }
    task();
  }
}

namespace {

/// One parallel_for: helpers that come late find nothing left and touch nothing of the caller's.
struct Loop {
  std::function<void(std::size_t)> body;
  std::size_t n;
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};

  void work() {
    std::size_t finished = 0;
    for (std::size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) {
      body(i);
      ++finished;
    }
    if (finished > 0 && done.fetch_add(finished) + finished == n) {
      done.notify_all();
    }
  }

  void wait() const {
    for (std::size_t seen = done.load(); seen != n; seen = done.load()) {
      done.wait(seen);
    }
  }
};

}  // namespace

void ComputePool::parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) {
  const std::size_t helpers = std::min(n, threads_.size()) - (n == 0 ? 0 : 1);
  if (helpers == 0) {
    for (std::size_t i = 0; i < n; ++i) {
      body(i);
    }
    return;
  }
  auto loop = std::make_shared<Loop>();
  loop->body = [&body](std::size_t i) { body(i); };
  loop->n = n;
  {
    const std::lock_guard guard(mutex_);
    for (std::size_t i = 0; i < helpers; ++i) {
      queues_[loops].emplace_back([loop] { loop->work(); });
    }
  }
  wake_.notify_all();
  loop->work();
  loop->wait();
}

}  // namespace troupe
