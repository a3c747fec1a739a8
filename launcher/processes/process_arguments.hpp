#pragma once
/// \file process_arguments.hpp
/// How the processes of a run are told who they are: on the command line, all but the token, which
/// comes as one line of standard input.
#include "launcher/exit_code.hpp"
#include "runtime/net/membership.hpp"
#include "runtime/net/tcp.hpp"
#include "runtime/net/token.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class Session;

struct ProcessArguments {
  net::ProcessLife life;
  std::string name;                    ///< in messages, e.g. "host 1"
  std::string director;                ///< address of the director's process
  std::string listen = "127.0.0.1:0";  ///< of an agent also empty: on the way to the director
  double heartbeat_s = 1;
  double lost_after_s = 3;
  double join_deadline_s = 60;
  std::string token_file;  ///< empty: standard input
  /// An agent's processes run this program, which calls run_ranks; empty: this one.
  std::vector<std::string> program;
  std::string tls;  ///< folder with certificate.pem, key.pem, authority.pem; empty: no TLS
};

/// The arguments after the program's name for `command` ("agent" or "member").
std::vector<std::string> to_command_line(const std::string& command, const ProcessArguments& a);

/// How a member is told in an environment variable, where the command line is the user's; and back.
inline constexpr const char* member_variable = "TROUPE_MEMBER";
std::string to_member_variable(const ProcessArguments& arguments);
/// Nothing if the variable is not set, or not by an agent.
std::optional<ProcessArguments> member_of_environment();

/// \errors those of net::Token
Result<net::Token> read_token(const ProcessArguments& arguments);
/// \errors those of net::TlsContext
Result<net::TcpOptions> tcp_options(const ProcessArguments& arguments);

/// A process with actors of the run: joins, works, ends with the run.
/// \param fn  trains the ranks here in the place of the built-in trainer; empty: that one
ExitCode run_member(const ProcessArguments& arguments,
                    const std::function<Status(Session&)>& fn = {});
/// The agent of a host: joins, starts the host's processes and watches them, ends with the run.
ExitCode run_agent(const ProcessArguments& arguments);

}  // namespace troupe
