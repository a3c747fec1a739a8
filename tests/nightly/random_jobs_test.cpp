// Many more random jobs than tests/sim runs.
#include "tests/sim/random_jobs.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(ManyRandomJobs, HaveTheSameResultsInAllLayouts) {
  const testing::RandomJobs jobs;
  std::string why;
  int run = 0;
  for (std::uint32_t number = 1000; number < 1600; ++number) {
    run += jobs.run(number, why) == testing::RandomJobs::Outcome::refused ? 0 : 1;
  }
  EXPECT_EQ(why, "");
  EXPECT_GE(run, 300) << "the others are refused";
}

}  // namespace
}  // namespace troupe
