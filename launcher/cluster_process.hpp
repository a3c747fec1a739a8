#pragma once
/// \file cluster_process.hpp
/// One process of a run: its holders, trainers, batch servers, evaluator and supervisor, and
/// what is known here of the other processes. In a simulation several of them are in one OS process.
#include "actors/data_path.hpp"
#include "actors/device_sampler.hpp"
#include "actors/evaluator.hpp"
#include "actors/gate.hpp"
#include "actors/host_context.hpp"
#include "actors/replica_client.hpp"
#include "gpu/run/device_data.hpp"
#include "gpu/run/devices.hpp"
#include "launcher/cluster_hooks.hpp"
#include "launcher/cluster_plan.hpp"
#include "launcher/cluster_runtime.hpp"
#include "runtime/job/device_memory.hpp"

#include <caf/actor.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Lifecycle:  create, load(), connect() to every other process, start_actors(), introduce(),
///   start_supervisor(); close() and end_actors() before the runtime finishes. connect() and
///   disconnect() also later, as processes come and go
/// Threads:    starting on one thread; connect(), disconnect() and handles from any
class ClusterProcess : public std::enable_shared_from_this<ClusterProcess> {
 public:
  ClusterProcess(ProcessId id, std::shared_ptr<const ClusterPlan> plan, ClusterRuntime& runtime,
                 std::shared_ptr<const ClusterHooks> hooks);

  /// Loads the parts that lie here.
  Status load(const PartitionedStore& store);
  /// Of parts that were copied into this process's memory, not mapped.
  std::uint64_t copied_bytes() const { return copied_bytes_; }
  /// From now on `other` is reached through `gate`, in place of an earlier one.
  void connect(ProcessId other, std::shared_ptr<Gate> gate);
  /// `other` is not reached through `gate` any more; another gate to it stays.
  void disconnect(ProcessId other, const std::shared_ptr<Gate>& gate);
  Status start_actors();  ///< all but the supervisor; every process before any supervisor
  /// Tells the trainers here who their peers are now.
  void introduce();
  void start_supervisor();

  ProcessId id() const { return id_; }
  const ProcessPlan& plan() const { return plan_->layout.at(id_); }
  /// The generation as this process knows it, for its gates.
  std::shared_ptr<std::atomic<std::uint32_t>> generation() const { return generation_; }
  std::vector<std::shared_ptr<Gate>> gates() const;

  // Handles as they are now: of actors here, or proxies of those elsewhere. Null: not there.
  caf::actor holder(ProcessId at, PartId part);
  caf::actor trainer(Rank rank);
  caf::actor batch_server(ProcessId at, Rank rank);
  caf::actor evaluator(ProcessId at);
  caf::actor supervisor(ProcessId at);
  /// By part, also in a process without actors of the run.
  std::vector<std::shared_ptr<const Replicas>> holders();
  caf::actor_system& system() { return runtime_.system(); }
  // Proxies only, of other processes.
  caf::actor member(ProcessId at);
  caf::actor agent(ProcessId at);
  /// Actors here, for tests of faults.
  caf::actor local(const std::string& name);

  void close(const Error& why);
  void end_actors();

 private:
  /// What samplers ask for rows in place of the collector that they are given.
  using WrapCollector = std::function<caf::actor(const caf::actor& collector)>;
  DataPath start_data_path(const std::string& owner, const WrapCollector& wrap = {});
  Status open_devices();
  Status fill_devices();
  Status fill_sampler_devices();
  gpu::DeviceData::PartsHere parts_here() const;
  Result<std::shared_ptr<ProgramDevice>> program_device_of(Rank rank);
  SpawnDataPath device_path(const std::string& owner, const DevicePlan& plan,
                            DeviceSamplerOptions options);
  Result<SpawnDataPath> device_path_of(Rank rank, const std::string& owner);
  Result<SpawnDataPath> sampler_device_path_of(Rank rank, const std::string& owner);
  SpawnDataPath data_path_of(const std::string& owner);
  Result<caf::actor> start_holder(PartId part, bool replaces_lost);
  Result<caf::actor> start_trainer(Rank rank, std::uint32_t generation);
  Result<caf::actor> make_trainer(Rank rank, TrainerOptions options);
  std::optional<DeviceMemory> planned_memory() const;
  DeviceMemory planned_memory_of_samplers() const;
  Result<LearnerHandle> start_learner(Rank rank, const LearnerOptions& options);
  template <class Owner>
  Result<std::shared_ptr<DeviceMeans>> means_of(Rank rank, const Owner& of_stream);
  SpawnDataPath remote_path_of(Rank rank);
  Result<caf::actor> start_batch_server(Rank rank);
  Result<caf::actor> start_evaluator();
  Result<caf::actor> start_inferrer(EvaluatorOptions& options);
  /// Deadlines of the job for requests to replicas, which are named by the rest.
  Replicas replicas(std::string what) const;
  std::shared_ptr<const Replicas> holders_of(PartId part);
  void know(const std::string& name, const caf::actor& actor);
  TraceTrack track(const std::string& name) const;  ///< an actor's line in the trace
  void export_to_all(Address address, const caf::actor& actor);
  caf::actor find(ProcessId at, const std::string& name, Address address);

  const ProcessId id_;
  const std::shared_ptr<const ClusterPlan> plan_;
  ClusterRuntime& runtime_;
  std::shared_ptr<gpu::Devices> devices_;  ///< that ranks here compute on; null: the CPU
  std::shared_ptr<const gpu::DeviceData> device_data_;  ///< null: the host makes batches
  /// Of devices that make batches for ranks elsewhere; null: the host does.
  std::shared_ptr<const gpu::DeviceData> sampler_data_;
  std::shared_ptr<gpu::Devices> sampler_devices_;  ///< Of sampler_data_
  const std::shared_ptr<const ClusterHooks> hooks_;
  const std::shared_ptr<HostContext> context_ = std::make_shared<HostContext>();
  std::uint64_t copied_bytes_ = 0;
  std::atomic<bool> said_why_not_exact_ = false;
  const std::shared_ptr<std::atomic<std::uint32_t>> generation_ =
      std::make_shared<std::atomic<std::uint32_t>>(0);

  mutable std::mutex mutex_;
  std::map<ProcessId, std::shared_ptr<Gate>> gates_;
  std::map<std::uint64_t, std::pair<Address, caf::actor>> exports_;  ///< the latest of each
  bool closed_ = false;                      ///< nothing is started any more
  std::map<std::string, caf::actor> known_;  ///< actors here by name, the latest of each
};

}  // namespace troupe
