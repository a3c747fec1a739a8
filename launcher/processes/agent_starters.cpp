#include "launcher/processes/agent_starters.hpp"

#include "launcher/line_writer.hpp"
#include "launcher/processes/child_processes.hpp"
#include "launcher/processes/process_logs.hpp"
#include "launcher/processes/slurm_allocation.hpp"
#include "launcher/processes/ssh_names.hpp"
#include "launcher/shell_quoted.hpp"

#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <unistd.h>

namespace troupe {
namespace {

/// Agents that are children of this process, or behind a child.
class ChildAgents final : public AgentStarter {
 public:
  struct Start {
    std::vector<std::string> words;
    std::string input = {};                     ///< for who stands before the program
    std::vector<std::string> environment = {};  ///< NAME=VALUE each, of the process started here
    bool own_program = false;                   ///< as ChildCommand has it
  };
  using Command = std::function<Start(HostId, const ProcessArguments&)>;
  ChildAgents(Command command, const std::filesystem::path& output)
      : command_(std::move(command)),
        logs_(output / "logs"),
        children_({.line =
                       [this](const std::string& line, bool error) {
                         writer_.print(error ? STDERR_FILENO : STDOUT_FILENO, line + "\n");
                         logs_.add(line);
                       },
                   .exited = [this](std::uint64_t child, const std::string& how,
                                    int code) { exited(child, how, code); }}) {}

  Status start(HostId host, const ProcessArguments& arguments, const Secrets& secrets,
               std::function<void(const std::string&)> ended) override {
    std::uint64_t child = 0;
    std::uint64_t before = 0;
    {
      const std::lock_guard guard(mutex_);
      child = next_++;
      before = std::exchange(by_host_[host], child);
      running_[child] = {host, std::move(ended)};
      failures_.erase(host);
    }
    children_.kill(before);  // it may only be stopped
    ChildCommand command;
    auto how = command_(host, arguments);
    command.arguments = std::move(how.words);
    command.input = std::move(how.input) + to_input(secrets);
    command.environment = std::move(how.environment);
    command.own_program = how.own_program;
    return children_.start(child, std::move(command));
  }
  bool wait(std::uint32_t milliseconds) override {
    const bool ended = children_.wait(milliseconds);
    if (ended) {  // their last lines come before those of the caller
      writer_.flush_for(std::chrono::milliseconds(milliseconds));
    }
    return ended;
  }
  void release_output() override { writer_.release(); }
  void kill() override { children_.signal_all(SIGKILL); }
  std::optional<Failure> failure() const override {
    const std::lock_guard guard(mutex_);
    return failures_.empty() ? std::nullopt : std::optional(failures_.begin()->second);
  }

 private:
  struct Running {
    HostId host{};
    std::function<void(const std::string&)> ended;
  };

  void exited(std::uint64_t child, const std::string& how, int code) {
    std::function<void(const std::string&)> ended;
    {
      const std::lock_guard guard(mutex_);
      if (auto node = running_.extract(child)) {
        const auto host = node.mapped().host;
        ended = std::move(node.mapped().ended);
        if (code != 0 && by_host_[host] == child) {
          failures_[host] = {host, how, code, how.starts_with("killed")};
        }
      }
    }
    if (ended) {
      ended(how);
    }
  }

  const Command command_;
  ProcessLogs logs_;
  LineWriter writer_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<HostId, std::uint64_t> by_host_;  ///< the last one started
  std::map<std::uint64_t, Running> running_;
  std::map<HostId, Failure> failures_;  ///< of their last ones
  ChildProcesses children_;
};

std::vector<std::string> agent_command(const std::string& program, const ProcessArguments& a) {
  auto words = to_command_line("agent", a);
  words.insert(words.begin(), program);
  return words;
}

/// What the host's line says of it; the job has none where there are only numbers.
std::vector<std::string> environment_of(const ClusterJob& cluster, HostId host) {
  return raw(host) < cluster.named.size() ? cluster.named[raw(host)].env
                                          : std::vector<std::string>();
}

/// Takes lines up to an empty one from the standard input, as variables; then becomes the program.
constexpr const char* read_environment =
    R"sh(while IFS= read -r v && [ -n "$v" ]; do export "$v" || exit; done; exec "$@")sh";

}  // namespace

std::string environment_input(const SshJob& ssh, const HostSpec& host) {
  std::string text;
  for (const auto* list : {&ssh.env, &host.env}) {
    for (const auto& entry : *list) {
      text += entry + "\n";
    }
  }
  return text.empty() ? text : text + "\n";
}

std::vector<std::string> ssh_options(const SshJob& ssh, const HostSpec& host) {
  std::vector<std::string> words = {"ssh", "-T", "-o", "BatchMode=yes"};
  if (const auto port = host.port > 0 ? host.port : ssh.port; port > 0) {
    words.insert(words.end(), {"-p", std::to_string(port)});
  }
  if (const auto& key = own_or(host.key, ssh.key); !key.empty()) {
    words.insert(words.end(), {"-i", key});
  }
  if (const auto& user = own_or(host.user, ssh.user); !user.empty()) {
    words.insert(words.end(), {"-l", user});
  }
  words.insert(words.end(), ssh.options.begin(), ssh.options.end());
  return words;
}

std::vector<std::string> ssh_command(const SshJob& ssh, const HostSpec& host,
                                     const std::vector<std::string>& arguments) {
  auto words = ssh_options(ssh, host);
  words.insert(words.end(), {"--", host.address});
  std::string line;
  if (const auto& dir = own_or(host.dir, ssh.dir); !dir.empty()) {
    line += fmt::format("cd {} && ", shell_quoted(dir));
  }
  line += "exec";
  if (!environment_input(ssh, host).empty()) {
    line += " sh -c " + shell_quoted(read_environment) + " sh";
  }
  for (const auto& argument : arguments) {
    line += " " + shell_quoted(argument);
  }
  words.push_back(line);
  return words;
}

std::unique_ptr<AgentStarter> make_agent_starter(const Job& job) {
  const auto& cluster = job.cluster;
  if (cluster.launch == "local") {
    return std::make_unique<ChildAgents>(
        [cluster, program = own_program()](HostId host, const ProcessArguments& a) {
          return ChildAgents::Start{.words = agent_command(program, a),
                                    .environment = environment_of(cluster, host),
                                    .own_program = true};
        },
        job.output);
  }
  if (cluster.launch == "ssh") {
    return std::make_unique<ChildAgents>(
        [cluster, program = own_program()](HostId host, const ProcessArguments& arguments) {
          const auto& spec = cluster.named.at(raw(host));
          auto there = arguments;
          const auto at = listen_address_there(cluster.ssh, spec, arguments.director);
          there.listen = at.find(':') == std::string::npos ? at + ":0" : "[" + at + "]:0";
          const auto& path = own_or(own_or(spec.program, cluster.ssh.program), program);
          return ChildAgents::Start{ssh_command(cluster.ssh, spec, agent_command(path, there)),
                                    environment_input(cluster.ssh, spec)};
        },
        job.output);
  }
  if (cluster.launch == "slurm") {
    return std::make_unique<ChildAgents>(
        [cluster, program = own_program()](HostId host, const ProcessArguments& arguments) {
          auto there = arguments;
          there.listen.clear();  // it finds out itself
          return ChildAgents::Start{
              srun_command(cluster.slurm, cluster.named.at(raw(host)).address,
                           agent_command(own_or(cluster.slurm.program, program), there))};
        },
        job.output);
  }
  return nullptr;
}

}  // namespace troupe
