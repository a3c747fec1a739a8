#include "launcher/bound_the_end.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace troupe
