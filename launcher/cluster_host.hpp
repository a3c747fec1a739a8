#pragma once
/// \file cluster_host.hpp
/// One host of a cluster in this process: its holders, routers, trainers, evaluator and agent, and
/// what is known here of the other hosts.
#include "actors/data_path.hpp"
#include "actors/host_context.hpp"
#include "launcher/cluster_hooks.hpp"
#include "launcher/cluster_plan.hpp"
#include "launcher/cluster_runtime.hpp"

#include <caf/actor.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace troupe {

/// Lifecycle:  create, load(), connect() to every other host, start(); close() and end_actors()
///   before the runtime finishes
/// Threads:    start() and before on one thread; handles from any
class ClusterHost : public std::enable_shared_from_this<ClusterHost> {
 public:
  ClusterHost(HostId id, std::shared_ptr<const ClusterPlan> plan, ClusterRuntime& runtime,
              std::shared_ptr<const ClusterHooks> hooks);

  /// Loads the parts that lie here.
  Status load(const PartitionedStore& store);
  void connect(HostId other, std::shared_ptr<Gate> gate);
  Status start_actors();  ///< all but the agent; every host before any agent
  void start_agent();

  HostId id() const { return id_; }
  /// The generation as this host knows it, for its gates.
  std::shared_ptr<std::atomic<std::uint32_t>> generation() const { return generation_; }
  const std::map<std::uint32_t, std::shared_ptr<Gate>>& gates() const { return gates_; }

  // Handles as they are now: of actors here, or proxies of those elsewhere. Null: not there.
  caf::actor holder(HostId at, PartId part);
  caf::actor trainer(Rank rank);
  caf::actor evaluator(HostId at);
  caf::actor agent(HostId at);
  /// Actors here, for tests of faults.
  caf::actor local(const std::string& name);

  void close(const Error& why);
  void end_actors();

 private:
  DataPath start_data_path(const std::string& owner);
  SpawnDataPath data_path_of(const std::string& owner);
  Result<caf::actor> start_holder(PartId part);
  Result<caf::actor> start_trainer(Rank rank, std::uint32_t generation);
  Result<caf::actor> start_evaluator();
  void start_routers();
  void introduce();
  void know(const std::string& name, const caf::actor& actor);
  TraceTrack track(const std::string& name) const;  ///< an actor's line in the trace
  void export_to_all(Address address, const caf::actor& actor);
  caf::actor find(HostId at, const std::string& name, Address address);

  const HostId id_;
  const std::shared_ptr<const ClusterPlan> plan_;
  ClusterRuntime& runtime_;
  const std::shared_ptr<const ClusterHooks> hooks_;
  const std::shared_ptr<HostContext> context_ = std::make_shared<HostContext>();
  const std::shared_ptr<std::atomic<std::uint32_t>> generation_ =
      std::make_shared<std::atomic<std::uint32_t>>(0);
  std::map<std::uint32_t, std::shared_ptr<Gate>> gates_;  ///< by the other host

  std::mutex mutex_;
  bool closed_ = false;                      ///< nothing is started any more
  std::map<std::string, caf::actor> known_;  ///< actors here by name, the latest of each
};

}  // namespace troupe
