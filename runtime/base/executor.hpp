#pragma once
/// \file executor.hpp
/// Where computations run. `ComputePool` has threads; `InlineExecutor` runs everything on the
/// caller's thread, for tests on one thread. Both give the same bits: work is cut into chunks by
/// shape alone and each chunk is computed by one thread.
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
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
  /// Runs `task` before all waiting tasks of post(). Executors without threads keep their own
  /// order. For tasks that other ranks wait for, such as a training step.
  virtual void post_first(Task task) { post(std::move(task)); }

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

/// A fixed number of threads behind shared queues.
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
  void post_first(Task task) override;
  void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) override;
  std::size_t concurrency() const override { return threads_.size(); }
  /// Runs what is queued and ends the threads; afterwards post() drops its task and parallel_for()
  /// runs on the caller. Must not be called from a task. May be called again.
  void stop();

 private:
  /// The order in which threads take what waits.
  enum Queue : std::uint8_t {
    loops,  ///< helpers of a parallel_for under way, so that what began ends
    first,
    in_order,
  };
  static constexpr std::size_t num_queues = 3;

  void put(Queue queue, Task task);
  std::deque<Task>* waiting();  ///< the queue whose turn it is; none: nothing waits
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::array<std::deque<Task>, num_queues> queues_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

/// Limits the matrix library to one thread for the calling thread. Called by every thread that
/// computes.
void limit_matrix_threads();

}  // namespace troupe
