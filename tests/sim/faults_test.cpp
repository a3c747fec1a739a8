// Thousands of simulated runs, each with a fault plan that says beforehand what must come of it.
#include "launcher/simulation.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fmt/format.h>
#include <map>

namespace troupe {
namespace {

struct Tally {
  std::uint64_t runs = 0;
  std::uint64_t recovered = 0;
  std::uint64_t failed = 0;
  std::uint64_t rollbacks = 0;
  std::uint64_t restarts = 0;
  std::uint64_t interruptions = 0;
  std::uint64_t resent = 0;
  std::map<std::string, std::uint64_t> faults;
};

void print(const Tally& tally) {
  fmt::print(
      "{} runs: {} with the right digests, {} with the error that the plan holds; {} "
      "roll-backs, {} holders started again, {} links interrupted, {} requests sent again\n",
      tally.runs, tally.recovered, tally.failed, tally.rollbacks, tally.restarts,
      tally.interruptions, tally.resent);
  for (const auto& [kind, count] : tally.faults) {
    fmt::print("  {:<24}{:>8}\n", kind, count);
  }
}

class Faults : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Faults, EveryPlanComesToWhatItMust) {
  constexpr std::uint64_t seeds = 125;
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  Tally tally;
  for (std::uint64_t seed = GetParam() * seeds; seed < (GetParam() + 1) * seeds; ++seed) {
    const auto plan = simulation.plan(seed);
    const auto outcome = simulation.run(plan, {});
    ASSERT_TRUE(outcome.as_expected) << outcome.verdict << "\n"
                                     << to_string(plan) << "\ntry: troupe simulate --seed " << seed;
    ++tally.runs;
    ++(outcome.failed ? tally.failed : tally.recovered);
    tally.rollbacks += outcome.rollbacks;
    tally.restarts += outcome.restarts;
    tally.interruptions += outcome.traffic.interruptions;
    tally.resent += outcome.traffic.resent;
    for (const auto& fault : plan.faults) {
      ++tally.faults[to_string(fault.kind)];
    }
  }
  print(tally);
  EXPECT_GT(tally.rollbacks, 0U);
  EXPECT_GT(tally.resent, 0U);
}

INSTANTIATE_TEST_SUITE_P(AThousandSeeds, Faults, ::testing::Range<std::uint64_t>(0, 8));

TEST(FaultSimulation, ASeedReplaysExactly) {
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto plan = simulation.plan(seed);

    const auto first = simulation.run(plan, {});
    const auto second = simulation.run(plan, {});

    EXPECT_EQ(first.log, second.log) << seed;
    EXPECT_EQ(first.elapsed, second.elapsed) << seed;
    EXPECT_EQ(first.traffic.bytes, second.traffic.bytes) << seed;
  }
}

/// A run of four steps and more, disturbed by one fault.
SimulationOutcome run_with(Simulation& simulation, FaultPlan plan, Fault fault) {
  plan.faults = {fault};
  return simulation.run(plan, {});
}

TEST(FaultSimulation, AnErrorThatIsNotInThePlanIsNotExpected) {
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  FaultPlan plan;
  plan.hosts = 2;
  plan.parts = 2;
  Fault forever;
  forever.kind = FaultKind::cut_link_forever;
  forever.step = 1;
  forever.other = HostId{1};

  const auto unplanned = run_with(simulation, plan, forever);
  plan.fatal = "link of hosts 0 and 1";
  const auto planned = run_with(simulation, plan, forever);
  const auto harmless = run_with(simulation, plan, Fault{.kind = FaultKind::disk_error, .step = 1});

  EXPECT_FALSE(unplanned.as_expected);
  EXPECT_TRUE(planned.as_expected) << planned.verdict;
  EXPECT_FALSE(harmless.as_expected) << "it succeeds, though the plan says that it must fail";
}

TEST(FaultSimulation, ARankThatCannotBeHeardForLongIsReplacedWhileItLives) {
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  FaultPlan plan;
  plan.hosts = 2;
  plan.parts = 2;
  Fault cut;
  cut.kind = FaultKind::cut_link;
  cut.step = 2;
  cut.other = HostId{1};
  cut.lasts = std::chrono::seconds(10);  // more than lost_after

  const auto outcome = run_with(simulation, plan, cut);

  EXPECT_TRUE(outcome.as_expected) << outcome.verdict;
  EXPECT_GE(outcome.rollbacks, 1U);
}

TEST(FaultSimulation, AShortCutIsMendedByTheLinksAlone) {
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  FaultPlan plan;
  plan.hosts = 2;
  plan.parts = 2;
  Fault cut;
  cut.kind = FaultKind::cut_link;
  cut.step = 2;
  cut.other = HostId{1};
  cut.lasts = std::chrono::milliseconds(200);
  cut.lose_in_flight = true;

  const auto outcome = run_with(simulation, plan, cut);

  EXPECT_TRUE(outcome.as_expected) << outcome.verdict;
  EXPECT_EQ(outcome.rollbacks, 0U);
  EXPECT_EQ(outcome.traffic.interruptions, 1U);
  EXPECT_GT(outcome.traffic.resent, 0U);
}

}  // namespace
}  // namespace troupe
