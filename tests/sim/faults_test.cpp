// Thousands of simulated runs, each with a fault plan that says beforehand what must come of it.
#include "launcher/simulation.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/fault_tally.hpp"
#include "tests/support/scratch_folder.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace troupe {
namespace {

class Faults : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Faults, EveryPlanComesToWhatItMust) {
  constexpr std::uint64_t seeds = 50;
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  const auto tally = testing::run_seeds(simulation, GetParam() * seeds, seeds);
  testing::print(tally);
  EXPECT_GT(tally.rollbacks, 0U);
  EXPECT_GT(tally.resent, 0U);
}

/// More of them are tried by night (TwentyThousandSeeds).
INSTANTIATE_TEST_SUITE_P(FourHundredSeeds, Faults, ::testing::Range<std::uint64_t>(0, 8));

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

/// Two hosts with a part each.
FaultPlan two_host_plan() {
  FaultPlan plan;
  plan.hosts = 2;
  plan.parts = 2;
  return plan;
}

/// Something that happens to their link after some steps.
Fault link_fault(FaultKind kind, std::uint64_t step, std::chrono::milliseconds lasts) {
  Fault fault;
  fault.kind = kind;
  fault.step = step;
  fault.other = ProcessId{1};
  fault.lasts = lasts;
  return fault;
}

/// A run of four steps and more, disturbed by one fault.
SimulationOutcome run_with(Simulation& simulation, FaultPlan plan, Fault fault) {
  plan.faults = {fault};
  return simulation.run(plan, {});
}

TEST(FaultSimulation, AnErrorThatIsNotInThePlanIsNotExpected) {
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  auto plan = two_host_plan();
  const auto forever = link_fault(FaultKind::cut_link_forever, 1, {});

  const auto unplanned = run_with(simulation, plan, forever);
  plan.fatal = "link of host 0 and host 1";
  const auto planned = run_with(simulation, plan, forever);
  const auto harmless = run_with(simulation, plan, Fault{.kind = FaultKind::disk_error, .step = 1});

  EXPECT_FALSE(unplanned.as_expected);
  EXPECT_TRUE(planned.as_expected) << planned.verdict;
  EXPECT_FALSE(harmless.as_expected) << "it succeeds, though the plan says that it must fail";
}

TEST(FaultSimulation, ARankThatCannotBeHeardForLongIsReplacedWhileItLives) {
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  constexpr std::chrono::seconds more_than_lost_after(10);

  const auto outcome = run_with(simulation, two_host_plan(),
                                link_fault(FaultKind::cut_link, 2, more_than_lost_after));

  EXPECT_TRUE(outcome.as_expected) << outcome.verdict;
  EXPECT_GE(outcome.rollbacks, 1U);
}

/// Virtual milliseconds of the first line of a trace that has a text.
double time_of(const std::vector<std::string>& lines, const std::string& text) {
  const auto found = std::ranges::find_if(
      lines, [&](const auto& line) { return line.find(text) != std::string::npos; });
  return found == lines.end() ? -1 : std::stod(*found);
}

TEST(FaultSimulation, ALossIsNoticedWithinFiveSecondsAtTheDefaults) {
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  for (const auto kind : {FaultKind::cut_link, FaultKind::silent_link}) {
    for (std::uint64_t step = 1; step <= 6; ++step) {
      auto plan = two_host_plan();
      plan.seed = step;
      plan.latency_us = 2000;
      plan.faults = {link_fault(kind, step, std::chrono::seconds(15))};
      std::vector<std::string> lines;

      const auto outcome =
          simulation.run(plan, [&](const std::string& line) { lines.push_back(line); });

      EXPECT_TRUE(outcome.as_expected) << outcome.verdict;
      const auto lost = time_of(lines, "fault: ");
      const auto noticed = time_of(lines, "all ranks go back");
      ASSERT_GE(lost, 0);
      EXPECT_GE(noticed, lost);
      EXPECT_LE(noticed - lost, 5000) << to_string(plan);
    }
  }
}

TEST(FaultSimulation, ARollBackDoesNotWaitForTheSharesThatItEnds) {
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  auto plan = simulation.plan(156);  // a slow link, a small window, and a rank that falls behind

  const auto outcome = simulation.run(plan, {});

  EXPECT_TRUE(outcome.as_expected) << outcome.verdict;
  EXPECT_LT(outcome.elapsed, std::chrono::seconds(5));
}

TEST(FaultSimulation, AShortCutIsMendedByTheLinksAlone) {
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  auto cut = link_fault(FaultKind::cut_link, 2, std::chrono::milliseconds(200));
  cut.lose_in_flight = true;

  const auto outcome = run_with(simulation, two_host_plan(), cut);

  EXPECT_TRUE(outcome.as_expected) << outcome.verdict;
  EXPECT_EQ(outcome.rollbacks, 0U);
  EXPECT_EQ(outcome.traffic.interruptions, 1U);
  EXPECT_GT(outcome.traffic.resent, 0U);
}

/// By then batches of the second epoch are under way.
TEST(FaultSimulation, LossesWhereAnEpochEndsChangeNoBit) {
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  std::uint32_t rollbacks = 0;
  for (const bool heterogeneous : {false, true}) {  // evaluators score, or the trainers
    auto plan = two_host_plan();
    plan.heterogeneous = heterogeneous;
    plan.batches_in_flight = 3;
    plan.latency_us = 2000;
    const auto end_of_first = simulation.steps(plan.world()) / 2;
    for (const auto kind : {FaultKind::lose_sampler, FaultKind::lose_collector,
                            FaultKind::lose_holder, FaultKind::lose_trainer, FaultKind::cut_link}) {
      for (const auto after : {0, 1, 3, 6}) {
        for (const auto step : {end_of_first - 1, end_of_first}) {
          auto fault = link_fault(kind, step, std::chrono::milliseconds(200));
          fault.host = ProcessId{static_cast<std::uint32_t>(after % 2)};
          fault.other = ProcessId{static_cast<std::uint32_t>(1 - after % 2)};
          fault.rank = Rank{static_cast<std::uint32_t>(after % 2)};
          fault.after = std::chrono::milliseconds(after);

          const auto outcome = run_with(simulation, plan, fault);

          EXPECT_TRUE(outcome.as_expected) << to_string(kind) << " " << after << " ms after step "
                                           << step << ": " << outcome.verdict;
          rollbacks += outcome.rollbacks;
        }
      }
    }
  }
  EXPECT_GE(rollbacks, 16U) << "one for each lost trainer";
}

}  // namespace
}  // namespace troupe
