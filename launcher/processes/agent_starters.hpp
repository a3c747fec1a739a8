#pragma once
/// \file agent_starters.hpp
/// The ways to start the agents of hosts.
#include "launcher/processes/process_arguments.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

/// Threads: start() on one at a time.
class AgentStarter {
 public:
  virtual ~AgentStarter() = default;
  /// Starts the agent of a host; the one before it is gone, or is ended.
  /// \param arguments  its command line; the secrets go to its standard input
  /// \param ended  may be called later, on any thread: the agent is gone, and how
  virtual Status start(HostId host, const ProcessArguments& arguments, const Secrets& secrets,
                       std::function<void(const std::string& how)> ended) = 0;
  /// Lets all end by themselves. \returns false: some have not after `milliseconds`
  virtual bool wait(std::uint32_t milliseconds) = 0;
  /// Ends all at once.
  virtual void kill() = 0;
  /// What they print waits for no reader from now on, as LineWriter::release() says.
  virtual void release_output() = 0;

  struct Failure {
    HostId host{};
    std::string how;      ///< "exit code 3", "killed by signal 9 (Killed)"
    int code = 0;         ///< as a shell has it
    bool killed = false;  ///< by a signal
  };
  /// The first host whose last agent has ended with another exit code than 0.
  virtual std::optional<Failure> failure() const = 0;
};

/// As `cluster.launch` says; null with "manual".
std::unique_ptr<AgentStarter> make_agent_starter(const Job& job);

/// Lines NAME=VALUE of the environment that the job says for a host, and an empty one; nothing without. They
/// may be secrets: what runs by ssh_command() takes them from its standard input, before its own.
std::string environment_input(const SshJob& ssh, const HostSpec& host);
/// ssh and its options for a host: port, key, user, and what the job adds.
std::vector<std::string> ssh_options(const SshJob& ssh, const HostSpec& host);
/// The command line of ssh that runs `program arguments...` on a host, with the working folder that the job
/// says and with the environment of environment_input().
std::vector<std::string> ssh_command(const SshJob& ssh, const HostSpec& host,
                                     const std::vector<std::string>& arguments);

}  // namespace troupe
