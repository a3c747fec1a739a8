#pragma once
/// \file process_arguments.hpp
/// How the processes of a run are told who they are: on the command line, all but their secrets.
#include "launcher/exit_code.hpp"
#include "launcher/processes/secrets.hpp"
#include "launcher/session.hpp"
#include "runtime/job/job.hpp"
#include "runtime/net/tcp.hpp"
#include "runtime/wire/membership.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct ClusterJob;

struct ProcessArguments {
  net::ProcessInstance instance;
  std::string name;                    ///< in messages, e.g. "host 1"
  std::string director;                ///< address of the director's process
  std::string job;                     ///< `Job::file_digest`: of both ends of a link
  std::string listen = "127.0.0.1:0";  ///< of an agent also empty: on the way to the director
  double heartbeat_s = 1;
  double lost_after_s = 3;
  double join_deadline_s = 60;
  std::string token_file;  ///< empty: secrets come on standard input
  std::string cores;       ///< that it and its children may use, like 0,2-4; empty: all
  /// An agent's processes run this program, which calls run_ranks; empty: this one.
  std::vector<std::string> program;
  std::string ucx;  ///< "auto", "ucx"; empty: links use TCP only
};

/// Without who it is: the times of the job.
ProcessArguments arguments_for(const ClusterJob& cluster);

/// The arguments after the program's name for `command` ("agent" or "member").
std::vector<std::string> to_command_line(const std::string& command, const ProcessArguments& a);

/// How a member is told in an environment variable, where the command line is the user's; and back.
inline constexpr const char* member_variable = "TROUPE_MEMBER";
std::string to_member_variable(const ProcessArguments& arguments);
/// Nothing if the variable is not set, or not by an agent.
std::optional<ProcessArguments> member_of_environment();

/// What links use, from the job alone, so that all its processes say the same.
std::string ucx_of(const ClusterJob& cluster);
net::UcxUse ucx_use(const std::string& ucx);
/// For people, once per run: what was chosen, and why. Empty: there was no choice.
/// \errors those of net::ucx_here, where the job wants nothing else
Result<std::string> describe_links(const ClusterJob& cluster);

/// \errors those of the other two
Result<Secrets> read_secrets(const ProcessArguments& arguments);
/// \errors those of net::TlsContext
Result<net::TcpOptions> tcp_options(const ProcessArguments& arguments, const Secrets& secrets);

/// A process with actors of the run: joins, works, ends with the run.
/// \param fn  trains the ranks here in the place of the built-in trainer; empty: that one
ExitCode run_member(const ProcessArguments& arguments,
                    const std::function<Status(Session&)>& fn = {},
                    const RanksOptions& options = {});
/// The agent of a host: joins, starts the host's processes and watches them, ends with the run.
ExitCode run_agent(const ProcessArguments& arguments);

}  // namespace troupe
