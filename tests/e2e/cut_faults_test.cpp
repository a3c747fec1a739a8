// Hosts cut off at one moment each, and back after they were given up; tests/nightly has all moments.
#include "tests/support/cut_cell.hpp"
#include "tests/support/network_hosts.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using testing::Cut;
using testing::CutCell;
using testing::Moment;

class CutFault : public ::testing::TestWithParam<CutCell> {
 protected:
  void SetUp() override {
    if (const auto why = testing::NetworkHosts::unavailable(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
};

TEST_P(CutFault, EndsWithTheDigestsOfTheUndisturbedRunAndLeavesNothing) {
  const auto outcome = testing::run_cell(GetParam());

  for (const auto& problem : outcome.problems) {
    ADD_FAILURE() << problem;
  }
  std::printf("%s", testing::table_line(GetParam(), outcome).c_str());
}

INSTANTIATE_TEST_SUITE_P(Matrix, CutFault,
                         ::testing::Values(CutCell{Cut::sampler, Moment::mid_epoch},
                                           CutCell{Cut::evaluator, Moment::evaluation}),
                         [](const auto& cell) { return testing::test_name(cell.param); });

}  // namespace
}  // namespace troupe
