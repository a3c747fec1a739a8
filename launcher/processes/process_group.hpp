#pragma once
/// \file process_group.hpp
/// The processes of a run as the director's process has them: starts the agents, takes everybody in,
/// notices who is lost, ends everybody.
#include "launcher/cluster_plan.hpp"
#include "launcher/cluster_process.hpp"
#include "launcher/cluster_runtime.hpp"
#include "launcher/processes/agent_starters.hpp"
#include "launcher/processes/entrance.hpp"
#include "launcher/processes/life_table.hpp"
#include "launcher/processes/neighbourhood.hpp"
#include "launcher/processes/process_setup.hpp"
#include "launcher/processes/run_verdict.hpp"

#include <caf/actor.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace troupe {

class Roster;
struct RegistrarOptions;

/// Lifecycle:  open(); wait_complete(); watch() once there is a director; end_all(); the destructor ends
///   all processes and waits for the actors of this one
/// Threads:    one; find() and end() on any
class ProcessGroup {
 public:
  /// \param ranks_ended  with a program of the user's: of one process; called on the registrar's thread
  /// \errors those of starting agents
  static Result<std::unique_ptr<ProcessGroup>> open(
      const Job& job, const PartitionedStore& store, ProcessClusterSetup setup,
      std::function<void(const net::RanksEnded&)> ranks_ended);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// \errors those of processes that cannot join; deadline_exceeded: who is missing; cancelled
  Status wait_complete(const std::function<bool()>& stop) { return end_->wait_complete(stop); }
  /// Fails when the run cannot go on.
  RunVerdict& end() { return *end_; }

  /// `handle` if its process is ready and all others know it, else null: the director must not ask it.
  caf::actor if_settled(ProcessId id, const caf::actor& handle) const;
  /// Who is told ProcessesChanged; null: nobody.
  void watch(const caf::actor& director);
  /// Asks all processes to end, and adds up what all links have carried.
  net::LinkTotals end_all();

  const ClusterPlan& plan() const { return *plan_; }
  const std::shared_ptr<ClusterProcess>& process() const { return process_; }
  const ClusterHooks& hooks() const { return *hooks_; }
  const ProcessClusterSetup& setup() const { return setup_; }
  ClusterRuntime& runtime() { return *runtime_; }

 private:
  /// What callbacks of other threads may touch.
  struct Shared {
    mutable std::mutex mutex;
    std::set<ProcessId> settled;
    caf::actor registrar;
    caf::actor director;
  };

  ProcessGroup() = default;
  Status start(const Job& job, const PartitionedStore& store, ProcessClusterSetup setup,
               std::function<void(const net::RanksEnded&)> ranks_ended);
  Status open_neighbourhood();
  void start_registrar(const net::Welcome& welcome,
                       std::function<void(const net::RanksEnded&)> ranks_ended);
  void add_actions(RegistrarOptions& options);
  void add_states(RegistrarOptions& options);
  void start_agent(HostId host, const net::ProcessLife& life);
  void tell_how_to_join();
  void tell_registrar(const std::function<void(const caf::actor&)>& send);
  void changed(const Roster& roster);
  void lost(const net::ProcessLife& life, const std::string& why);
  void drop(const net::ProcessLife& life, const std::string& why);

  ProcessClusterSetup setup_;
  Entrance entrance_;
  std::unique_ptr<ClusterRuntime> runtime_;
  std::shared_ptr<const ClusterPlan> plan_;
  std::shared_ptr<const ClusterHooks> hooks_;
  std::shared_ptr<ClusterProcess> process_;
  std::unique_ptr<AgentStarter> agents_;
  std::shared_ptr<Neighbourhood> neighbours_;
  const std::shared_ptr<LifeTable> lives_ = std::make_shared<LifeTable>();
  const std::shared_ptr<RunVerdict> end_ = std::make_shared<RunVerdict>();
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  caf::actor registrar_;
};

}  // namespace troupe
