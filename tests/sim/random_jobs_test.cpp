// Random settings in random layouts: the same results (tests/nightly has more of them).
#include "tests/sim/random_jobs.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(RandomJobs, HaveTheSameResultsInAllLayouts) {
  const testing::RandomJobs jobs;
  std::string why;
  int run = 0;
  for (std::uint32_t number = 0; number < 24; ++number) {
    run += jobs.run(number, why) == testing::RandomJobs::Outcome::refused ? 0 : 1;
  }
  EXPECT_EQ(why, "");
  EXPECT_GE(run, 12) << "the others are refused";
}

TEST(RandomJobs, GiveProgramsTheSameBatchesInAllLayouts) {
  const testing::RandomJobs jobs;
  std::string why;
  int run = 0;
  for (std::uint32_t number = 0; number < 24; ++number) {
    run += jobs.run_program(number, why) == testing::RandomJobs::Outcome::refused ? 0 : 1;
  }
  EXPECT_EQ(why, "");
  EXPECT_GE(run, 12) << "the others are refused";
}

}  // namespace
}  // namespace troupe
