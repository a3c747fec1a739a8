// The agent of a host: its process.
#include "actors/agent.hpp"
#include "actors/message.hpp"
#include "launcher/bound_the_end.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/child_processes.hpp"
#include "launcher/processes/director_link.hpp"
#include "launcher/processes/local_address.hpp"
#include "runtime/job/process_list.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <map>
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
    command.own_program = true;
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

class AgentProcess {
 public:
  explicit AgentProcess(DirectorLink& link) : link_(link) {}
  ~AgentProcess();
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  Status serve();
  /// Prints which user programs failed after their ranks had ended well. \returns the first one's exit code
  int report_failures() const;

 private:
  struct ProcessEnd {
    std::string how;
    int code = 0;
  };
  Status spawn(const net::SpawnProcess& request);
  void exited(std::uint64_t child, const std::string& how, int code);
  void decide_end(const net::EndProcess& end);
  void wait_for_children(const Status& ended);

  DirectorLink& link_;
  mutable std::mutex mutex_;
  caf::actor registrar_;  ///< Null: the director is not to know of ends, not yet or no longer
  bool ended_well_ = false;
  std::map<ProcessId, std::string> names_;
  std::map<ProcessId, ProcessEnd> ends_;  ///< of user programs that run no longer
  ChildProcesses children_{
      {.line = print_line, .exited = [this](std::uint64_t child, const std::string& how, int code) {
         exited(child, how, code);
       }}};
  caf::actor agent_;
};

Status AgentProcess::spawn(const net::SpawnProcess& request) {
  {
    const std::lock_guard guard(mutex_);
    names_[request.instance.process] = request.name;
    ends_.erase(request.instance.process);
  }
  return children_.start(child_number(request.instance),
                         member_command(link_.arguments(), request, link_.secrets()));
}

void AgentProcess::exited(std::uint64_t child, const std::string& how, int code) {
  const auto instance = instance_of(child);
  const std::lock_guard guard(mutex_);
  // The director's request may reach a program first, which then ends before this process knows of it.
  const bool by_itself = code < 128;
  if (!link_.arguments().program.empty() && (ended_well_ || by_itself)) {
    ends_[instance.process] = {how, code};
  }
  if (registrar_) {
    caf::anon_send(registrar_, Ref<net::ProcessExited>(net::ProcessExited{instance, how}));
  }
}

void AgentProcess::decide_end(const net::EndProcess& end) {
  const auto how = net::status_of(end);
  {
    const std::lock_guard guard(mutex_);
    ended_well_ = how.ok();
  }
  link_.ending()->decide_by_director(how);
}

/// A user program whose ranks have ended well may still work, for example write its results.
void AgentProcess::wait_for_children(const Status& ended) {
  constexpr std::uint32_t ms_between_looks = 100;
  const auto& arguments = link_.arguments();
  if (!ended || arguments.program.empty()) {
    children_.wait(link_.ending()->by_director() ? time_to_end_ms : 0);
    return;
  }
  const bool by_hand = !arguments.token_file.empty();  // the director has ended
  while (!children_.wait(ms_between_looks) && (by_hand || !link_.ending()->lost())) {
  }
}

Status AgentProcess::serve() {
  const auto ending = link_.ending();
  agent_ = spawn_agent(
      link_.runtime().system(),
      {.spawn = [this](const net::SpawnProcess& request) { return spawn(request); },
       .kill =
           [this](const net::ProcessInstance& instance) { children_.kill(child_number(instance)); },
       .decide_end = [this](const net::EndProcess& end) { decide_end(end); },
       .begin_end = [ending] { ending->begin(); }});
  const auto& arguments = link_.arguments();
  TROUPE_RETURN_IF_ERROR(link_.connect({.name =
                                            [&arguments](ProcessId id) {
                                              return id == director_instance.process
                                                         ? "director"
                                                         : arguments.name;
                                            },
                                        .connected =
                                            [agent = agent_, id = raw(arguments.instance.process)](
                                                ProcessId, const std::shared_ptr<Gate>& gate) {
                                              gate->export_actor({Role::agent, id}, agent);
                                            }}));
  {
    const std::lock_guard guard(mutex_);
    registrar_ = link_.registrar();
  }
  const auto welcome = link_.join();
  auto ended = welcome ? ending->wait() : Status(welcome.error());
  wait_for_children(ended);
  return ended;
}

int AgentProcess::report_failures() const {
  const std::lock_guard guard(mutex_);
  int first = 0;
  for (const auto& [process, end] : ends_) {
    if (!ended_well_ || end.code == 0) {
      continue;
    }
    std::fprintf(stderr, "troupe: %s: the program failed after its ranks had ended: %s\n",
                 names_.at(process).c_str(), end.how.c_str());
    first = first == 0 ? end.code : first;
  }
  return first;
}

AgentProcess::~AgentProcess() {
  caf::anon_send_exit(agent_, caf::exit_reason::user_shutdown);
  link_.runtime().finish();  // its handlers use what is here
  const std::lock_guard guard(mutex_);
  registrar_ = {};
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
  int of_program = 0;
  const auto code = run_process(arguments, [&of_program](DirectorLink& link) {
    AgentProcess agent(link);
    auto ended = agent.serve();
    of_program = agent.report_failures();
    return ended;
  });
  return code == ExitCode::done ? static_cast<ExitCode>(of_program) : code;
}

}  // namespace troupe
