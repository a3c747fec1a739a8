#include "launcher/bound_the_end.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// Bounds the process, cancels that or not, and stays longer.
[[noreturn]] void outstay_bound(bool cancel) {
  const auto canceled = std::make_shared<std::atomic<bool>>(false);
  bound_the_end(1s, ExitCode::usage, "the process ends", canceled);
  *canceled = cancel;
  std::this_thread::sleep_for(1500ms);
  std::_Exit(0);
}

TEST(BoundTheEnd, EndsAProcessThatIsStillThere) {
  EXPECT_EXIT(outstay_bound(false), ::testing::ExitedWithCode(2), "the process ends");
}

TEST(BoundTheEnd, LeavesTheProcessOnceCanceled) {
  EXPECT_EXIT(outstay_bound(true), ::testing::ExitedWithCode(0), "^$");
}

/// Bounds the process with a last call, is over or not, and stays longer.
[[noreturn]] void outstay_call(bool over) {
  const auto ended = std::make_shared<std::atomic<bool>>(false);
  const auto end = [ended] {
    std::fprintf(stderr, "over %d", ended->load() ? 1 : 0);
    return ExitCode::data;
  };
  bound_the_end(1s, end, ended);
  *ended = over;
  std::this_thread::sleep_for(1500ms);
  std::_Exit(0);
}

TEST(BoundTheEnd, CallsWhatTheEndNeedsFirst) {
  EXPECT_EXIT(outstay_call(false), ::testing::ExitedWithCode(3), "over 1");
  EXPECT_EXIT(outstay_call(true), ::testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace troupe
