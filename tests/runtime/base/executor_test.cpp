#include "runtime/base/executor.hpp"

#include "tests/support/expect.hpp"

#include <atomic>
#include <latch>
#include <set>
#include <string>

namespace troupe {
namespace {

/// Each index of a loop of `n` exactly once.
void expect_each_once(Executor& executor, std::size_t n) {
  std::vector<std::atomic<int>> calls(n);
  executor.parallel_for(n, [&](std::size_t i) { ++calls[i]; });
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(calls[i].load(), 1) << "index " << i << " of " << n;
  }
}

TEST(ComputePool, LoopsRunEveryIndexOnce) {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    ComputePool pool(threads);
    EXPECT_EQ(pool.concurrency(), threads);
    for (const std::size_t n : {0U, 1U, 2U, 3U, 100U, 10'000U}) {
      expect_each_once(pool, n);
    }
  }
}

TEST(ComputePool, ManyLoopsAtOnceDoNotMixUp) {
  ComputePool pool(3);
  std::vector<std::jthread> callers;
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&pool] {
      for (std::size_t round = 0; round < 100; ++round) {
        expect_each_once(pool, 1 + round % 17);
      }
    });
  }
}

TEST(ComputePool, LoopsMayBeNested) {
  ComputePool pool(2);
  std::atomic<int> calls{0};
  pool.parallel_for(8, [&](std::size_t) {
    pool.parallel_for(8, [&](std::size_t) { pool.parallel_for(3, [&](std::size_t) { ++calls; }); });
  });
  EXPECT_EQ(calls.load(), 8 * 8 * 3);
}

TEST(ComputePool, TasksMayRunLoopsEvenWhenAllThreadsAreBusy) {
  ComputePool pool(2);
  constexpr int tasks = 20;
  std::latch done(tasks);
  std::atomic<int> calls{0};
  for (int i = 0; i < tasks; ++i) {
    pool.post([&] {
      pool.parallel_for(50, [&](std::size_t) { ++calls; });
      done.count_down();
    });
  }
  done.wait();
  EXPECT_EQ(calls.load(), tasks * 50);
}

TEST(ComputePool, WhatIsPostedFirstRunsBeforeWhatWaits) {
  ComputePool pool(1);
  std::latch begun(1);
  std::latch go_on(1);
  std::string order;
  pool.post([&] {
    begun.count_down();
    go_on.wait();
  });
  begun.wait();
  const auto note = [&order](char name) { return [&order, name] { order += name; }; };
  pool.post(note('a'));
  pool.post(note('b'));
  pool.post_first(note('1'));
  pool.post(note('c'));
  pool.post_first(note('2'));
  go_on.count_down();
  pool.stop();
  EXPECT_EQ(order, "12abc");
}

TEST(ComputePool, TheDestructorRunsWhatIsQueued) {
  std::atomic<int> ran{0};
  {
    ComputePool pool(2);
    for (int i = 0; i < 500; ++i) {
      pool.post([&ran] { ++ran; });
    }
  }
  EXPECT_EQ(ran.load(), 500);
}

TEST(ComputePool, TasksThatPostTasksAreRunToo) {
  ComputePool pool(2);
  std::latch done(10);
  pool.post([&] {
    for (int i = 0; i < 10; ++i) {
      pool.post([&done] { done.count_down(); });
    }
  });
  done.wait();  // a task posted once the pool stops is dropped, so the test must not race with that
  SUCCEED();
}

TEST(ComputePool, StopRunsWhatIsQueuedAndMayBeCalledAgain) {
  std::atomic<int> ran{0};
  ComputePool pool(2);
  for (int i = 0; i < 500; ++i) {
    pool.post([&ran] { ++ran; });
  }

  pool.stop();
  EXPECT_EQ(ran.load(), 500);
  pool.stop();
}

TEST(ComputePool, AfterStopTasksAreDroppedAndLoopsRunOnTheCaller) {
  ComputePool pool(3);
  pool.stop();

  pool.post([] { ADD_FAILURE() << "a stopped pool ran a task"; });
  expect_each_once(pool, 100);
  std::set<std::thread::id> ids;
  pool.parallel_for(20, [&ids](std::size_t) { ids.insert(std::this_thread::get_id()); });

  EXPECT_EQ(ids, (std::set<std::thread::id>{std::this_thread::get_id()}));
}

TEST(ComputePool, PostedTasksRunOnThePoolsThreads) {
  std::set<std::thread::id> ids;
  {
    ComputePool pool(1);
    for (int i = 0; i < 10; ++i) {
      pool.post([&ids] { ids.insert(std::this_thread::get_id()); });
    }
  }
  EXPECT_EQ(ids.size(), 1U);
  EXPECT_FALSE(ids.contains(std::this_thread::get_id()));
}

TEST(ComputePoolDeathTest, NoThreadsAreABug) {
  EXPECT_DEATH(ComputePool(0), "a pool needs a thread");
}

TEST(InlineExecutor, RunsAllOnTheCallersThreadInOrder) {
  InlineExecutor executor;
  std::vector<std::size_t> order;
  executor.parallel_for(3, [&](std::size_t i) { order.push_back(i); });
  executor.post([&] { order.push_back(9); });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 9}));
  EXPECT_EQ(executor.concurrency(), 1U);
  expect_each_once(executor, 100);
}

}  // namespace
}  // namespace troupe
