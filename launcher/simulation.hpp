#pragma once
/// \file simulation.hpp
/// Runs a small job on a simulated cluster in virtual time while a fault plan happens to it, and
/// compares what came of it with what must. The same seed gives the same run, event by event.
#include "launcher/fault_plan.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/simulated_cluster.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace troupe {

/// What one simulated run came to.
struct SimulationOutcome {
  bool as_expected = false;
  std::string verdict;  ///< a sentence; what differs, if it is not as expected
  bool failed = false;  ///< the run ended with an error
  std::uint32_t rollbacks = 0;
  std::uint32_t restarts = 0;  ///< of holders
  Traffic traffic;
  Status windows = ok_status();        ///< whether real bytes stayed within the windows
  std::chrono::nanoseconds elapsed{};  ///< virtual
  Digest log;                          ///< of all lines that trace() gets
};

/// Lifecycle:  create() once, run() any number of times
/// Threads:    one
class Simulation {
 public:
  /// \param dir  for the data (made anew, small) and the checkpoints
  static Result<Simulation> create(const std::filesystem::path& dir);

  /// Steps of an undisturbed run of so many ranks.
  std::uint64_t steps(std::uint32_t world) const;
  FaultPlan plan(std::uint64_t seed) const;
  /// \param trace  gets a line per event: "TIME: what"; may be empty
  SimulationOutcome run(const FaultPlan& plan,
                        const std::function<void(const std::string&)>& trace);

 private:
  struct Expected {
    Digest batches;
    Digest outputs;
    Digest parameters;
    Digest best_parameters;
    friend bool operator==(const Expected&, const Expected&) = default;
  };
  explicit Simulation(std::filesystem::path dir) : dir_(std::move(dir)) {}
  Result<Job> job_of(const FaultPlan& plan) const;
  /// The job, and the store of its parts, made when first asked for.
  Result<PreparedRun> prepare(const FaultPlan& plan) const;
  /// Digests of an undisturbed run.
  Result<Expected> expected(std::uint32_t world, bool heterogeneous);
  static Expected digests_of(const RunRecord& record);
  SimulationOutcome judge(const FaultPlan& plan, const Result<RunResult>& result,
                          SimulationOutcome outcome);
  /// Goes on from the newest checkpoint on disk, undisturbed, with the same result.
  Status check_resume(const FaultPlan& plan, const std::filesystem::path& checkpoints);

  std::filesystem::path dir_;
  std::map<std::pair<std::uint32_t, bool>, Expected>
      expected_;  ///< by world, and whether heterogeneous
};

}  // namespace troupe
