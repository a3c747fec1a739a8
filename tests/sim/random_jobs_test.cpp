// Random settings in random layouts: the same results (tests/nightly has more of them).
#include "tests/sim/random_jobs.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(RandomJobs, HaveTheSameResultsInAllLayouts) {
  testing::expect_the_same(&testing::RandomJobs::run, 0, 24);
}

TEST(RandomJobs, GiveProgramsTheSameBatchesInAllLayouts) {
  testing::expect_the_same(&testing::RandomJobs::run_program, 0, 24);
}

}  // namespace
}  // namespace troupe
