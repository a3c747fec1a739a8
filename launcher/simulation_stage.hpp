#pragma once
/// \file simulation_stage.hpp
/// One simulated run and the faults that happen to it; only for launcher/simulation*.cpp.
#include "launcher/cluster_runtime.hpp"
#include "launcher/fault_plan.hpp"
#include "launcher/simulation.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace troupe {

/// A run under way and the faults that happen to it.
class Stage {
 public:
  /// \param steps  of the whole run
  Stage(const FaultPlan& plan, std::uint64_t steps, const std::filesystem::path& checkpoints,
        std::function<void(const std::string&)> trace)
      : plan_(plan),
        trace_(std::move(trace)),
        checkpoints_(checkpoints),
        runtime_({.seed = plan.seed, .longest_task = std::chrono::microseconds(200)}),
        layout_(layout_of(plan)),
        steps_(steps) {}

  Result<RunResult> run(const Job& job, const PartitionedStore& store);

  SimulationOutcome outcome() const { return outcome_; }

 private:
  void tell(const std::string& what);
  ClusterHooks hooks();
  /// A moment has come so many times: steps of the run, blocks, roll-backs.
  void reached(FaultMoment moment, std::uint64_t count);
  void schedule(const Fault& fault);
  void happen(const Fault& fault);
  void cut(const Fault& fault);
  void heal_later(const std::shared_ptr<net::SimCable>& cable, std::chrono::microseconds after);
  void slow(const Fault& fault);
  void silence(const Fault& fault);
  /// The process of a rank's samplers, and whose they are.
  std::pair<ProcessId, std::string> data_path_of(Rank rank) const;
  void kill(ProcessId host, const std::string& actor);
  void later(std::chrono::microseconds after, std::function<void()> what) {
    runtime_.driver().at(runtime_.driver().now() + after, [this, what = std::move(what)] {
      if (!over_) {
        what();
      }
    });
  }

  const FaultPlan& plan_;
  const std::function<void(const std::string&)> trace_;
  const std::filesystem::path checkpoints_;
  SimulationOutcome outcome_;
  VirtualRuntime runtime_;
  const Layout layout_;
  const std::uint64_t steps_;
  std::uint64_t blocks_ = 0;  ///< of exact inference
  std::unique_ptr<SimulatedCluster> cluster_;
  std::set<std::size_t> happened_;  ///< faults, by number
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::chrono::microseconds> pauses_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> gone_;  ///< (host, part) that cannot be started
  std::map<std::uint32_t, net::Clock::time_point> stalled_parts_;       ///< until when
  std::map<std::uint32_t, net::Clock::time_point> stalled_evaluators_;  ///< by process
  std::set<const net::SimCable*> never_healed_;
  std::uint32_t full_disks_ = 0;
  bool over_ = false;   ///< faults that were to come no longer happen
  std::string cursed_;  ///< an actor that is killed whenever it starts
};

}  // namespace troupe
