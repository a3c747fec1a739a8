#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/print_error.hpp"
#include "launcher/simulation.hpp"
#include "launcher/temporary_folder.hpp"
#include "runtime/base/files.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <limits>
#include <string>

namespace troupe {
namespace {

void print_plan_and_outcome(const FaultPlan& plan, const SimulationOutcome& outcome) {
  fmt::print("{}\n  {}: {}\n", to_string(plan), outcome.as_expected ? "as expected" : "WRONG",
             outcome.verdict);
}

/// Runs one seed with all its events.
ExitCode replay(Simulation& simulation, std::uint64_t seed) {
  const auto plan = simulation.plan(seed);
  fmt::print("{}\n", to_string(plan));
  const auto outcome =
      simulation.run(plan, [](const std::string& line) { fmt::print("{}\n", line); });
  fmt::print(
      "{}: {}\n{} roll-backs, {} holders started again, {} links interrupted, {} requests "
      "sent again, {:.3f} s of virtual time, event log {}\n",
      outcome.as_expected ? "as expected" : "WRONG", outcome.verdict, outcome.rollbacks,
      outcome.restarts, outcome.traffic.interruptions, outcome.traffic.resent,
      std::chrono::duration<double>(outcome.elapsed).count(), to_string(outcome.log));
  return outcome.as_expected ? ExitCode::done : ExitCode::failed;
}

ExitCode count(Simulation& simulation, const SimulateArguments& arguments) {
  std::uint64_t right = 0;
  std::uint64_t failed = 0;
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < arguments.count; ++i) {
    const auto plan = simulation.plan(arguments.seed + i);
    const auto outcome = simulation.run(plan, {});
    if (!outcome.as_expected) {
      ++wrong;
      print_plan_and_outcome(plan, outcome);
    } else {
      ++(outcome.failed ? failed : right);
    }
  }
  fmt::print(
      "{} runs: {} with the right digests, {} with the error that the plan holds, {} wrong\n",
      arguments.count, right, failed, wrong);
  return wrong == 0 ? ExitCode::done : ExitCode::failed;
}

}  // namespace

ExitCode simulate_command(const SimulateArguments& arguments) {
  const EndAtSignal end_at_signal;
  if (arguments.count - 1 > std::numeric_limits<std::uint64_t>::max() - arguments.seed) {
    return print_error(Error(
        Errc::invalid_argument,
        fmt::format("--count: expected seeds below 2^64, found {} of them from {} on\ntry: a lower "
                    "--seed",
                    arguments.count, arguments.seed)));
  }
  const auto folder = temporary_folder("simulate");
  if (!folder) {
    return print_error(folder.error());
  }
  const auto below =
      folder->path() / "data";  // stores wait for a lock on the folder that they are in
  if (const auto made = make_folders(below); !made) {
    return print_error(made.error());
  }
  auto simulation = Simulation::create(below);
  if (!simulation) {
    return print_error(simulation.error(), ExitCode::failed);
  }
  return arguments.count == 1 ? replay(*simulation, arguments.seed) : count(*simulation, arguments);
}

}  // namespace troupe
