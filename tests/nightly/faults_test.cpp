// Twenty thousand simulated runs with faults: as tests/sim/faults_test.cpp, with other seeds.
#include "launcher/simulation.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/fault_tally.hpp"
#include "tests/support/scratch_folder.hpp"

namespace troupe {
namespace {

class TwentyThousandSeeds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(TwentyThousandSeeds, EveryPlanComesToWhatItMust) {
  constexpr std::uint64_t first = 1000;
  constexpr std::uint64_t seeds = 1000;
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));

  const auto tally = testing::run_seeds(simulation, first + GetParam() * seeds, seeds);

  testing::print(tally);
  EXPECT_EQ(tally.wrong, 0U);
}

INSTANTIATE_TEST_SUITE_P(Faults, TwentyThousandSeeds, ::testing::Range<std::uint64_t>(0, 20));

}  // namespace
}  // namespace troupe
