#pragma once
/// \file process_group.hpp
/// The processes of a run as the director's process has them: starts the agents, takes everybody in,
/// notices who is lost, ends everybody.
#include "actors/learned_rows.hpp"
#include "launcher/cluster_plan.hpp"
#include "launcher/cluster_process.hpp"
#include "launcher/cluster_runtime.hpp"
#include "launcher/processes/agent_starters.hpp"
#include "launcher/processes/entrance.hpp"
#include "launcher/processes/instance_table.hpp"
#include "launcher/processes/neighbourhood.hpp"
#include "launcher/processes/process_setup.hpp"
#include "launcher/processes/run_verdict.hpp"
#include "runtime/run/restart_budget.hpp"

#include <caf/actor.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace troupe {

class Roster;
struct RegistrarOptions;

/// With a user program; called on the registrar's thread.
struct ProgramEvents {
  std::function<void(const net::RanksEnded&)> ended = {};  ///< The ranks of one process
  std::function<void()> restarted = {};                    ///< All ranks begin again
};

/// Lifecycle:  open(); wait_complete(); watch() once there is a director; end_all(); the destructor ends
///   all processes and waits for the actors of this one
/// Threads:    one; find() and end() on any
class ProcessGroup {
 public:
  /// \errors those of starting agents
  static Result<std::unique_ptr<ProcessGroup>> open(const Job& job, const PartitionedStore& store,
                                                    ProcessClusterSetup setup,
                                                    ProgramEvents events);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// \errors those of processes that cannot join; deadline_exceeded: who is missing; cancelled
  Status wait_complete(const std::function<bool()>& stop) { return end_->wait_complete(stop); }
  /// Fails when the run cannot go on.
  RunVerdict& end() { return *end_; }

  /// `handle` if its process is ready and all others know it, else null: the director must not ask it.
  caf::actor if_settled(ProcessId id, const caf::actor& handle) const;
  /// With a user program: it is to end. A loss ends the run from now on, and ranks that are starting again at once: they
  /// have nothing that the last checkpoint has not.
  void stop_ranks();
  /// As AgentStarter::release_output().
  void release_output() {
    if (agents_) {
      agents_->release_output();
    }
  }
  /// Who is told ProcessesChanged; null: nobody.
  void watch(const caf::actor& director);
  /// Asks all processes to end, with how the run ended, and adds up what all links have carried.
  net::LinkTotals end_all();
  /// As ProcessSessions has them; after end_all().
  void let_programs_end();
  ExitCode wait_for_programs(const std::function<bool()>& stop);

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
    bool begin_again = false;  ///< Ranks of a user program, whose processes are starting
    caf::actor registrar;
    caf::actor director;
  };

  explicit ProcessGroup(ProgramEvents events) : events_(std::move(events)) {}
  Status start(const Job& job, const PartitionedStore& store, ProcessClusterSetup setup);
  Status open_neighbourhood();
  void start_registrar(const net::Welcome& welcome);
  void add_actions(RegistrarOptions& options);
  void add_states(RegistrarOptions& options);
  void start_agent(HostId host, const net::ProcessInstance& instance);
  void tell_how_to_join();
  void tell_registrar(const std::function<void(const caf::actor&)>& send);
  void changed(const Roster& roster);
  void lost(const net::ProcessInstance& instance, const std::string& why);
  void drop(const net::ProcessInstance& instance, const std::string& why);
  bool restart_ranks(const std::string& why);
  Status keep_state(net::TrainingState state);
  LearnedRowsLinks learned_rows() const;
  std::function<Status()> load_start(bool tensors) const;
  bool all_settled() const;
  Result<net::StateReply> start_state(const net::ReadStart& request) const;

  ProcessClusterSetup setup_;
  const ProgramEvents events_;
  std::atomic<bool> stopping_{false};
  /// What ranks of a user program continue from, or the nodes that outputs are inferred of; null: ranks are at
  /// the beginning. On the registrar's thread.
  std::shared_ptr<const Checkpoint> begin_;
  RestartBudget restarts_;
  Entrance entrance_;
  std::unique_ptr<ClusterRuntime> runtime_;
  std::shared_ptr<const ClusterPlan> plan_;
  std::shared_ptr<const ClusterHooks> hooks_;
  std::shared_ptr<ClusterProcess> process_;
  std::unique_ptr<AgentStarter> agents_;
  std::shared_ptr<Neighbourhood> neighbours_;
  const std::shared_ptr<InstanceTable> instances_ = std::make_shared<InstanceTable>();
  const std::shared_ptr<RunVerdict> end_ = std::make_shared<RunVerdict>();
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  caf::actor registrar_;
};

}  // namespace troupe
