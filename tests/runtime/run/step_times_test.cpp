#include "runtime/run/step_times.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(StepTimes, AreAMedianWithoutTheFirstTen) {
  StepTimes times;
  for (int i = 0; i < 10; ++i) {
    times.add(100);
  }
  EXPECT_FALSE(times.median());
  times.add(4);
  EXPECT_EQ(times.median(), 4);
  times.add(1);
  EXPECT_EQ(times.median(), 2.5);
  times.add(2);
  EXPECT_EQ(times.median(), 2);
}

}  // namespace
}  // namespace troupe
