// Many more random jobs than tests/sim runs.
#include "tests/sim/random_jobs.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

constexpr std::uint32_t jobs_of_test = 30;

class ManyRandomJobs : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(ManyRandomJobs, HaveTheSameResultsInAllLayouts) {
  testing::expect_the_same(&testing::RandomJobs::run, 1000 + GetParam() * jobs_of_test,
                           jobs_of_test);
}

TEST_P(ManyRandomJobs, GiveProgramsTheSameBatchesInAllLayouts) {
  testing::expect_the_same(&testing::RandomJobs::run_program, 1000 + GetParam() * jobs_of_test,
                           jobs_of_test);
}

INSTANTIATE_TEST_SUITE_P(SixHundred, ManyRandomJobs, ::testing::Range(0U, 20U));

}  // namespace
}  // namespace troupe
