// The agent of a host: its process.
#include "actors/agent.hpp"
#include "actors/message.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/child_processes.hpp"
#include "launcher/processes/director_link.hpp"
#include "launcher/processes/local_address.hpp"
#include "runtime/job/process_list.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <sched.h>

namespace troupe {
namespace {

std::uint64_t child_number(const net::ProcessInstance& instance) {
  return std::uint64_t{raw(instance.process)} << 32 | instance.incarnation;
}

net::ProcessInstance instance_of(std::uint64_t child) {
  return {static_cast<ProcessId>(child >> 32), static_cast<std::uint32_t>(child)};
}

/// How a process of the host is started: as this program, with the same director.
ChildCommand member_command(const ProcessArguments& agent, const net::SpawnProcess& request,
                            const Secrets& secrets) {
  auto arguments = agent;
  arguments.cores.clear();  // they keep to the agent's
  arguments.instance = request.instance;
  arguments.name = request.name;
  arguments.token_file.clear();
  ChildCommand command;
  const auto program = std::exchange(arguments.program, {});
  if (!program.empty()) {
    command.arguments = program;
    command.environment = {std::string(member_variable) + "=" + to_member_variable(arguments)};
  } else {
    command.arguments = to_command_line("member", arguments);
    command.arguments.insert(command.arguments.begin(), own_program());
  }
  command.prefix = "[" + request.name + "] ";
  command.input = to_input(secrets);
  return command;
}

/// This thread, and all threads and children that it starts from now on.
Status keep_to_cores(const std::string& list) {
  if (list.empty()) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto cores, parse_number_list("cores", list, CPU_SETSIZE));
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const auto core : cores) {
    CPU_SET(core, &set);
  }
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    return Error(Errc::invalid_argument,
                 fmt::format("cores={}: expected cores of this host that it may use, found others "
                             "({})",
                             list, std::strerror(errno)));
  }
  return ok_status();
}

Status serve_as_agent(DirectorLink& link) {
  const auto& arguments = link.arguments();
  auto& system = link.runtime().system();
  // The children's ends are told to the registrar once there is a link.
  std::mutex mutex;
  caf::actor registrar;
  const auto exited = [&](std::uint64_t child, const std::string& how, bool) {
    const std::lock_guard guard(mutex);
    if (registrar) {
      caf::anon_send(registrar,
                     Ref<net::ProcessExited>(net::ProcessExited{instance_of(child), how}));
    }
  };
  ChildProcesses children({.line = print_line, .exited = exited});
  const auto agent = spawn_agent(
      system,
      {.spawn =
           [&](const net::SpawnProcess& request) {
             return children.start(child_number(request.instance),
                                   member_command(arguments, request, link.secrets()));
           },
       .kill = [&](const net::ProcessInstance& instance) { children.kill(child_number(instance)); },
       .decide_end = [ending = link.ending()](
                         const net::EndProcess& end) { ending->decide(net::status_of(end)); },
       .begin_end = [ending = link.ending()] { ending->begin(); }});
  const auto connected =
      link.connect({.name =
                        [&](ProcessId id) {
                          return id == director_instance.process ? "director" : arguments.name;
                        },
                    .connected =
                        [&](ProcessId, const std::shared_ptr<Gate>& gate) {
                          gate->export_actor({Role::agent, raw(arguments.instance.process)}, agent);
                        }});
  Status ended = connected;
  if (connected) {
    {
      const std::lock_guard guard(mutex);
      registrar = link.registrar();
    }
    const auto welcome = link.join();
    ended = welcome ? link.ending()->wait() : Status(welcome.error());
    children.wait(ended ? 3000 : 0);
  }
  caf::anon_send_exit(agent, caf::exit_reason::user_shutdown);
  link.runtime().finish();  // its handlers use what is here
  const std::lock_guard guard(mutex);
  registrar = {};
  return ended;
}

}  // namespace

ExitCode run_agent(const ProcessArguments& given) {
  if (std::getenv("SLURM_STEP_ID") != nullptr) {
    // Slurm tells all processes of a job that it is to end; the director must find them for a checkpoint.
    // What is ignored is so in the processes started here, too.
    std::signal(SIGTERM, SIG_IGN);
  }
  auto arguments = given;
  if (arguments.listen.empty()) {
    const auto own = local_address_towards(host_of_address(arguments.director));
    if (!own) {
      return print_error(Error(own.error()).with(arguments.name));
    }
    arguments.listen = *own + ":0";
  }
  if (const auto kept = keep_to_cores(arguments.cores); !kept) {
    return print_error(Error(kept.error()).with(arguments.name), ExitCode::usage);
  }
  return run_process(arguments, serve_as_agent);
}

}  // namespace troupe
