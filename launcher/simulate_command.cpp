#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/print_error.hpp"
#include "launcher/simulation.hpp"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <unistd.h>

namespace troupe {
namespace {

/// A folder that goes when the command ends.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("troupe-simulate-{}", getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

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
  for (std::uint64_t seed = arguments.seed; seed < arguments.seed + arguments.count; ++seed) {
    const auto plan = simulation.plan(seed);
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
  const TemporaryFolder folder;
  auto simulation = Simulation::create(folder.path());
  if (!simulation) {
    return print_error(simulation.error(), ExitCode::failed);
  }
  return arguments.count == 1 ? replay(*simulation, arguments.seed) : count(*simulation, arguments);
}

}  // namespace troupe
