#include "runtime/run/failure_streak.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

/// Lines of so many failures that are printed.
std::string lines_of(FailureStreak& streak, int failures) {
  std::string lines;
  for (int i = 0; i < failures; ++i) {
    const auto line = streak.take("failed" + streak.add());
    lines += line.empty() ? "" : line + "\n";
  }
  return lines;
}

TEST(FailureStreak, ReportsTheFirstAndThenFewerAndFewer) {
  FailureStreak streak;

  EXPECT_EQ(lines_of(streak, 9),
            "failed\nfailed (2 in a row)\nfailed (4 in a row)\nfailed (8 in a row)\n");
  EXPECT_EQ(streak.take_held_back(), "failed (9 in a row)");
  EXPECT_EQ(streak.take_held_back(), "");
}

TEST(FailureStreak, BeginsAgainAfterASuccess) {
  FailureStreak streak;
  lines_of(streak, 3);

  EXPECT_EQ(streak.end(), 3U);
  EXPECT_EQ(streak.end(), 0U);
  EXPECT_EQ(streak.take_held_back(), "");
  EXPECT_EQ(lines_of(streak, 1), "failed\n");
}

}  // namespace
}  // namespace troupe
