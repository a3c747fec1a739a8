// Hosts cut off at one moment each, and back after they were given up; tests/nightly has all moments.
#include "tests/support/cut_test.hpp"

namespace troupe {
namespace {

using testing::Cut;
using testing::CutCell;
using testing::Moment;

class CutFault : public testing::CutTest {};

TEST_P(CutFault, EndsWithTheDigestsOfTheUndisturbedRunAndLeavesNothing) {
  run();
}

INSTANTIATE_TEST_SUITE_P(Matrix, CutFault,
                         ::testing::Values(CutCell{Cut::sampler, Moment::mid_epoch},
                                           CutCell{Cut::evaluator, Moment::evaluation}),
                         [](const auto& cell) { return testing::test_name(cell.param); });

}  // namespace
}  // namespace troupe
