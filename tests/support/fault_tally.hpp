#pragma once
/// \file fault_tally.hpp
/// Runs many seeds of the fault simulation and counts what came of them.
#include "launcher/simulation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <string>

namespace troupe::testing {

struct FaultTally {
  std::uint64_t runs = 0;
  std::uint64_t recovered = 0;  ///< ended with the digests of the undisturbed run
  std::uint64_t failed = 0;     ///< ended with the error that the plan holds
  std::uint64_t wrong = 0;
  std::uint64_t rollbacks = 0;
  std::uint64_t restarts = 0;
  std::uint64_t interruptions = 0;
  std::uint64_t resent = 0;
  std::map<std::string, std::uint64_t> faults;  ///< by kind
};

/// Runs plans of seeds as `change(plan)` leaves them, without those for which it returns false. A wrong
/// outcome fails the test, with the plan and its seed.
/// \param replay  text before the seed
template <class Change>
FaultTally run_seeds(Simulation& simulation, std::uint64_t first, std::uint64_t count,
                     const Change& change, const char* replay = "\nseed ") {
  FaultTally tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    auto plan = simulation.plan(seed);
    if (!change(plan)) {
      continue;
    }
    const auto outcome = simulation.run(plan, {});
    EXPECT_TRUE(outcome.as_expected) << outcome.verdict << "\n"
                                     << to_string(plan) << replay << seed;
    ++tally.runs;
    ++(!outcome.as_expected ? tally.wrong : outcome.failed ? tally.failed : tally.recovered);
    tally.rollbacks += outcome.rollbacks;
    tally.restarts += outcome.restarts;
    tally.interruptions += outcome.traffic.interruptions;
    tally.resent += outcome.traffic.resent;
    for (const auto& fault : plan.faults) {
      ++tally.faults[to_string(fault.kind)];
    }
  }
  return tally;
}

inline FaultTally run_seeds(Simulation& simulation, std::uint64_t first, std::uint64_t count) {
  return run_seeds(
      simulation, first, count, [](const FaultPlan&) { return true; },
      "\ntry: troupe simulate --seed ");
}

inline void print(const FaultTally& tally) {
  const auto share = [&](std::uint64_t part) {
    return 100.0 * static_cast<double>(part) /
           static_cast<double>(std::max<std::uint64_t>(tally.runs, 1));
  };
  fmt::print(
      "{} runs: {} ({:.1f} %) with the right digests, {} ({:.1f} %) with the error that the plan "
      "holds, {} wrong; {} roll-backs, {} holders started again, {} links interrupted, {} requests "
      "sent again\n",
      tally.runs, tally.recovered, share(tally.recovered), tally.failed, share(tally.failed),
      tally.wrong, tally.rollbacks, tally.restarts, tally.interruptions, tally.resent);
  for (const auto& [kind, count] : tally.faults) {
    fmt::print("  {:<24}{:>8}\n", kind, count);
  }
}

}  // namespace troupe::testing
