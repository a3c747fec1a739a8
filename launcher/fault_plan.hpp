#pragma once
/// \file fault_plan.hpp
/// What goes wrong in one simulated run, decided before it begins by a seed alone, and what must come
/// of it (docs/failure.md).
#include "runtime/base/ids.hpp"
#include "runtime/job/layout.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

enum class FaultKind : std::uint8_t {
  cut_link,          ///< for `lasts`, then it heals; what was in flight is lost or not
  cut_link_forever,  ///< not recoverable
  slow_link,         ///< for `lasts`: more latency, less bandwidth
  lose_sampler,
  lose_collector,
  lose_holder,
  lose_holder_forever,  ///< it cannot be started again; recoverable only with a replica
  lose_trainer,
  lose_trainer_always,  ///< and again whenever it is started anew; not recoverable
  lose_evaluator,
  stall_trainer,          ///< makes no step for `lasts`
  stall_trainer_forever,  ///< not recoverable
  disk_error,             ///< checkpoints cannot be written for `lasts`
  silent_link,      ///< for `lasts` nothing passes from one end to the other, and nobody is told
  corrupt_frame,    ///< a byte changes on the way
  stall_holder,     ///< the holders of a part answer nothing for `lasts`
  stall_evaluator,  ///< does nothing for `lasts`
  stall_evaluator_forever,  ///< not recoverable
};
std::string to_string(FaultKind kind);

/// What a fault waits for.
enum class FaultMoment : std::uint8_t {
  step,        ///< some rank has made so many steps of the run
  evaluation,  ///< so many blocks of exact inference were computed
  recovery,    ///< all ranks went back so many times
  finish,      ///< the last step is made
};

/// One fault. It happens `after` its moment; where that does not come, never.
struct Fault {
  FaultKind kind = FaultKind::cut_link;
  FaultMoment moment = FaultMoment::step;
  std::uint64_t step = 0;  ///< or blocks, or times
  std::chrono::microseconds after{0};
  std::chrono::microseconds lasts{0};
  ProcessId host{};   ///< the process where, or one end of the link
  ProcessId other{};  ///< the other end
  Rank rank{};
  PartId part{};
  bool lose_in_flight = false;
};

/// The cluster, its network and its faults.
struct FaultPlan {
  std::uint64_t seed = 0;
  std::string placement = "collocated";
  std::uint32_t servers = 0;            ///< with "server_client"
  bool heterogeneous = false;           ///< a graph with several types, scored on sampled batches
  std::uint64_t row_cache = 0;          ///< bytes of the cache of rows; 0: none
  bool known_future = false;            ///< rows are kept for the next batches, not by degree
  std::string device = "cpu";           ///< `cluster.device`; no seed has another
  std::string sampler_devices = "cpu";  ///< `cluster.sampler_devices`; the same
  std::uint32_t hosts = 1;
  std::uint32_t trainers_per_host = 1;
  std::uint32_t samplers = 1;
  std::uint32_t parts = 1;
  std::uint32_t replicas = 1;
  std::uint32_t batches_in_flight = 1;
  std::uint64_t window_bytes = std::uint64_t{1} << 20;
  std::uint64_t checkpoint_steps = 0;  ///< 0: none
  double latency_us = 0;
  double bandwidth_gbps = 0;
  std::chrono::microseconds holder_delay{0};  ///< every answer of `slow_part` comes so much later
  PartId slow_part{};
  std::vector<Fault> faults;
  /// What the run's error must name; empty: all faults are recoverable and the run must succeed.
  std::string fatal;

  std::uint32_t world() const { return hosts * trainers_per_host; }
};

/// The processes of such a cluster.
Layout layout_of(const FaultPlan& plan);

/// The plan of a seed, for runs of `steps` steps.
FaultPlan make_fault_plan(std::uint64_t seed, std::uint64_t steps);

/// Virtual time within which a run with this plan must have ended, either way: its faults' own time,
/// what it takes to notice them, and some for the work.
std::chrono::microseconds time_limit(const FaultPlan& plan);

/// A line for the cluster and one per fault.
std::string to_string(const FaultPlan& plan);

}  // namespace troupe
