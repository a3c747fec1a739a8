// Many more random jobs than tests/sim runs.
#include "tests/sim/random_jobs.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

constexpr std::uint32_t jobs_of_test = 30;

class ManyRandomJobs : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(ManyRandomJobs, HaveTheSameResultsInAllLayouts) {
  const testing::RandomJobs jobs;
  std::string why;
  std::uint32_t run = 0;
  for (std::uint32_t i = 0; i < jobs_of_test; ++i) {
    const auto ended = jobs.run(1000 + GetParam() * jobs_of_test + i, why);
    run += ended == testing::RandomJobs::Outcome::refused ? 0 : 1;
  }
  EXPECT_EQ(why, "");
  EXPECT_GE(2 * run, jobs_of_test) << "the others are refused";
}

TEST_P(ManyRandomJobs, GiveProgramsTheSameBatchesInAllLayouts) {
  const testing::RandomJobs jobs;
  std::string why;
  std::uint32_t run = 0;
  for (std::uint32_t i = 0; i < jobs_of_test; ++i) {
    const auto ended = jobs.run_program(1000 + GetParam() * jobs_of_test + i, why);
    run += ended == testing::RandomJobs::Outcome::refused ? 0 : 1;
  }
  EXPECT_EQ(why, "");
  EXPECT_GE(2 * run, jobs_of_test) << "the others are refused";
}

INSTANTIATE_TEST_SUITE_P(SixHundred, ManyRandomJobs, ::testing::Range(0U, 20U));

}  // namespace
}  // namespace troupe
