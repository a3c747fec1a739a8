#pragma once
/// \file executor.hpp
/// Where computations run. `ComputePool` has threads; `InlineExecutor` runs everything on the
/// caller's thread, for tests on one thread. Both give the same bits: work is cut into chunks by
/// shape alone and each chunk is computed by one thread.
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe {

class Executor {
 public:
  using Task = std::function<void()>;
  virtual ~Executor() = default;

  /// Runs `task` soon, on some thread (inline executors: now). Tasks must not wait for other tasks.
  /// Never refuses: whoever posts bounds what it has under way (an actor by the requests it
  /// admits).
  virtual void post(Task task) = 0;

  /// Calls `body(i)` for all i in [0, n), each once, on any threads, and returns when all are done.
  /// May be called from a task: the caller takes part, so it ends even when all threads are busy.
  virtual void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) = 0;

  /// Threads that may run at once, >= 1.
  virtual std::size_t concurrency() const = 0;
};

/// Runs everything at once on the caller's thread.
class InlineExecutor final : public Executor {
 public:
  void post(Task task) override { task(); }
  void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) override {
    for (std::size_t i = 0; i < n; ++i) {
      body(i);
    }
  }
  std::size_t concurrency() const override { return 1; }
};

/// A fixed number of threads behind one queue.
/// Lifecycle:  threads start in the constructor; stop(), or else the destructor, runs what is
///   queued, then joins
/// Threads:    all members from any thread
/// Guarantees: each compute thread limits the matrix library to one thread (design, section 4)
class ComputePool final : public Executor {
 public:
  /// \param threads >= 1
  explicit ComputePool(std::size_t threads);
  ~ComputePool() override;
  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;

  void post(Task task) override;
  void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) override;
  std::size_t concurrency() const override { return threads_.size(); }
  /// Runs what is queued and ends the threads; afterwards post() drops its task and parallel_for()
  /// runs on the caller. Must not be called from a task. May be called again.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task>
      urgent_;  ///< helpers of a parallel_for under way: before new work, so that what began ends
  std::deque<Task> tasks_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

/// Limits the matrix library to one thread for the calling thread. Called by every thread that
/// computes.
void limit_matrix_threads();

}  // namespace troupe
