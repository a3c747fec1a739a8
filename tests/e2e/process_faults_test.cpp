// Real processes killed or stopped at one moment each; tests/nightly has the whole matrix.
#include "tests/support/fault_cell.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using testing::Act;
using testing::FaultCell;
using testing::Moment;
using testing::Victim;

class ProcessFault : public ::testing::TestWithParam<FaultCell> {};

TEST_P(ProcessFault, EndsWithTheDigestsOfTheUndisturbedRunAndLeavesNothing) {
  const auto outcome = testing::run_cell(GetParam());

  for (const auto& problem : outcome.problems) {
    ADD_FAILURE() << problem;
  }
  std::printf("%s", testing::table_line(GetParam(), outcome).c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, ProcessFault,
    ::testing::Values(FaultCell{Victim::sampler, Act::kill, Moment::mid_epoch},
                      FaultCell{Victim::sampler, Act::stop, Moment::checkpoint},
                      FaultCell{Victim::server, Act::kill, Moment::evaluation},
                      FaultCell{Victim::server, Act::stop, Moment::mid_epoch},
                      FaultCell{Victim::replicated_server, Act::kill, Moment::mid_epoch},
                      FaultCell{Victim::trainer, Act::kill, Moment::checkpoint},
                      FaultCell{Victim::trainer, Act::stop, Moment::last_step},
                      FaultCell{Victim::host, Act::kill, Moment::start},
                      FaultCell{Victim::host, Act::stop, Moment::start},
                      FaultCell{Victim::agent, Act::kill, Moment::mid_epoch},
                      FaultCell{Victim::agent, Act::stop, Moment::evaluation},
                      FaultCell{Victim::director, Act::kill, Moment::checkpoint},
                      FaultCell{Victim::director, Act::stop, Moment::mid_epoch}),
    [](const auto& cell) { return testing::test_name(cell.param); });

}  // namespace
}  // namespace troupe
