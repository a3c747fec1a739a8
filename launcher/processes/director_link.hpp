#pragma once
/// \file director_link.hpp
/// What agents and members have in common: a runtime, and the link to the director's process.
#include "launcher/cluster_runtime.hpp"
#include "launcher/processes/ending.hpp"
#include "launcher/processes/neighbourhood.hpp"
#include "launcher/processes/process_arguments.hpp"

#include <caf/actor.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace troupe {

/// The director's process has one incarnation: without it the run ends.
inline constexpr net::ProcessInstance director_instance{ProcessId{0}, 1};

/// A process is lost after `lost_after` of silence and this long without a new link.
net::Clock::duration director_grace(double lost_after_s);

/// Lifecycle:  connect() once; the destructor closes all links and waits for the actors, which must
///   have been told to end
/// Threads:    one; handles from any
class DirectorLink {
 public:
  struct Events {
    std::function<std::string(ProcessId)> name;
    std::function<void(ProcessId, std::shared_ptr<Gate>)> connected;
    /// There was no link to another process for the recovery deadline; may be empty.
    std::function<void(const net::ProcessInstance&, const Error&)> unreachable = {};
  };
  DirectorLink(ProcessArguments arguments, Secrets secrets);
  ~DirectorLink();

  /// Connects to the director's process; blocks, at most for the join deadline.
  /// \errors those of Neighbourhood
  Status connect(Events events);
  /// Asks the registrar and waits.
  Result<net::Welcome> join();
  /// Asks for an incarnation of the agent of a host that is started by hand.
  /// \errors those of Roster::apply
  Result<net::Welcome> apply(ProcessId agent);

  /// Closes all links. The destructor does it, too; before it when handlers use what goes first.
  void close();

  const net::TcpOptions& tcp() const { return tcp_; }
  const ProcessArguments& arguments() const { return arguments_; }
  const Secrets& secrets() const { return secrets_; }
  ClusterRuntime& runtime() { return *runtime_; }
  Neighbourhood& neighbours() { return *neighbours_; }
  /// Set when the director is lost.
  std::shared_ptr<Ending> ending() { return ending_; }
  caf::actor registrar() { return gate_->proxy({Role::registrar, 0}); }

 private:
  Result<net::Welcome> ask(const net::Join& join);

  const ProcessArguments arguments_;
  const Secrets secrets_;
  const std::unique_ptr<ClusterRuntime> runtime_;
  const std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();
  net::TcpOptions tcp_;
  std::shared_ptr<Neighbourhood> neighbours_;
  std::shared_ptr<Gate> gate_;
};

/// Reads the secrets, lets `work` run with a link to the director, and says how it ended; a reason that
/// the director has sent is printed by an agent that was started by hand alone.
/// \param returned  set by the caller when this has returned: the end of this process, which is bounded from
///   when `work` returns, is no longer; null: it stays so
/// \returns the exit code of this process
ExitCode run_process(const ProcessArguments& arguments,
                     const std::function<Status(DirectorLink&)>& work,
                     const std::shared_ptr<std::atomic<bool>>& returned = nullptr);

}  // namespace troupe
